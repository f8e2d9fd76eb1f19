package probeboot

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Boot is what became of the boot of a probe that was asked for.
type Boot struct {
	// ID is that of the request.
	ID string `json:"id"`
	// Begun is since when the Server is being discovered for it.
	Begun time.Time `json:"begun"`
	// Before is the boot attempt whose report was on record then. The report of any other attempt is a later one.
	Before string `json:"before"`
	// Reported is when it was seen that a later report is on record.
	Reported time.Time `json:"reported,omitzero"`
}

// Of is the newest boot of a Server, nil where there is none, or none that can be read.
func Of(server metav1.Object) *Boot {
	text, ok := server.GetAnnotations()[metalv1.AnnotationProbeBooted]
	if !ok {
		return nil
	}
	var b Boot
	if json.Unmarshal([]byte(text), &b) != nil || b.ID == "" || b.Before == "" || b.Begun.IsZero() {
		return nil
	}
	return &b
}

// Pending reports whether the probe has not been seen to report.
func (b *Boot) Pending() bool { return b != nil && b.Reported.IsZero() }

// String is the value of the annotation.
func (b *Boot) String() string {
	text, err := json.Marshal(b)
	if err != nil { // times beyond the year 9999
		return ""
	}
	return string(text)
}

// Asked is the ID of the request at a Server; empty: there is none.
func Asked(server metav1.Object) string { return server.GetAnnotations()[metalv1.AnnotationProbeBoot] }

// Unanswered reports whether a request waits, or the boot that it asked for has not been seen to report.
func Unanswered(server metav1.Object) bool {
	id, b := Asked(server), Of(server)
	return b.Pending() || id != "" && (b == nil || b.ID != id)
}

// Reported reports whether the probe of the boot with an ID has reported.
func Reported(server metav1.Object, id string) bool {
	b := Of(server)
	return b != nil && b.ID == id && !b.Pending()
}
