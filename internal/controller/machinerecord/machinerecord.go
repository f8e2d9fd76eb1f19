package machinerecord

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/farrier-dev/farrier/internal/inspection/gzipped"
)

const (
	// Label is on every object of record; its value says which kind of record it is.
	Label = "farrier.dev/record"
	// LabelServer names the server that a record is about, as Selector does.
	LabelServer = "farrier.dev/server"
	// AnnotationServer is the same, whole: a label holds no more than 63 characters, a name 253.
	AnnotationServer = "farrier.dev/server-name"
	// AnnotationAttempt is the ID of the boot attempt that a record comes from.
	AnnotationAttempt = "farrier.dev/attempt"

	// AnnotationSystemUUID is the UUID that the machine of a report has by what it says itself.
	AnnotationSystemUUID = "farrier.dev/system-uuid"

	// KindInspection and KindCleanup are the values of Label.
	KindInspection = "inspection"
	KindCleanup    = "cleanup"

	// Key is the key of the compressed content.
	Key = "record.gz"
)

// InspectionName is the name of the record of a server's inspection.
func InspectionName(server string) string { return nameOf(server, "-inspection") }

// CleanupName is the name of the record of the cleanup after the claim of that UID.
func CleanupName(server, claimUID string) string { return nameOf(server, "-cleanup-"+claimUID) }

// nameOf is the name where it fits with its ending, and otherwise its beginning with a hash of all of it.
func nameOf(server, ending string) string {
	if len(server)+len(ending) <= validation.DNS1123SubdomainMaxLength {
		return server + ending
	}
	sum := sha256.Sum256([]byte(server + ending))
	return server[:validation.DNS1123SubdomainMaxLength-2*len(sum)-1] + "x" + hex.EncodeToString(sum[:])
}

// New makes an object of record.
func New(namespace, name, kind, server, attemptID string, content []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels:      map[string]string{Label: kind, LabelServer: labelValue(server)},
			Annotations: map[string]string{AnnotationAttempt: attemptID, AnnotationServer: server},
		},
		BinaryData: map[string][]byte{Key: content},
	}
}

// Selector is what the labels of all records of a server have in common.
func Selector(server string) map[string]string {
	return map[string]string{LabelServer: labelValue(server)}
}

// ServerOf is the name of the server that a record is about; empty: it is no record.
func ServerOf(obj metav1.Object) string { return obj.GetAnnotations()[AnnotationServer] }

// labelValue is the name where it fits, and otherwise its beginning with a hash of all of it.
func labelValue(server string) string {
	if len(server) <= validation.LabelValueMaxLength {
		return server
	}
	sum := sha256.Sum256([]byte(server))
	return server[:validation.LabelValueMaxLength-2*hashed-1] + "-" + hex.EncodeToString(sum[:hashed])
}

// hashed is how many bytes of a hash tell long names apart.
const hashed = 8

// Pack compresses the JSON form of a record.
func Pack(content any) ([]byte, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("pack a record: %w", err)
	}
	packed, err := gzipped.Pack(body)
	if err != nil {
		return nil, fmt.Errorf("pack a record: %w", err)
	}
	return packed, nil
}
