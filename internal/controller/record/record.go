package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Label is on every object of record; its value says which kind of record it is.
	Label = "farrier.dev/record"
	// LabelServer names the server that a record is about.
	LabelServer = "farrier.dev/server"
	// AnnotationAttempt is the ID of the boot attempt that a record comes from.
	AnnotationAttempt = "farrier.dev/attempt"

	// KindInspection and KindCleanup are the values of Label.
	KindInspection = "inspection"
	KindCleanup    = "cleanup"

	// Key is the key of the compressed content.
	Key = "record.gz"
)

// InspectionName is the name of the record of a server's inspection.
func InspectionName(server string) string { return server + "-inspection" }

// CleanupName is the name of the record of the cleanup after the claim of that UID.
func CleanupName(server, claimUID string) string { return server + "-cleanup-" + claimUID }

// New makes an object of record.
func New(namespace, name, kind, server, attemptID string, content []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels:      map[string]string{Label: kind, LabelServer: server},
			Annotations: map[string]string{AnnotationAttempt: attemptID},
		},
		BinaryData: map[string][]byte{Key: content},
	}
}

// Cleanup is what a record of KindCleanup says.
type Cleanup struct {
	// Mode is what was asked for: none, metadata or full.
	Mode  string    `json:"mode"`
	Ended time.Time `json:"ended"`
}

// Pack compresses the JSON form of a record.
func Pack(content any) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(content); err != nil {
		return nil, fmt.Errorf("pack a record: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a record: %w", err)
	}
	return packed.Bytes(), nil
}
