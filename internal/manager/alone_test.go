package manager

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
)

// keysOf is what is known of the Secret of an installation.
func keysOf(namespace string, age time.Duration, filter string) metav1.PartialObjectMetadata {
	m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0).Add(-age))}}
	if filter != "" {
		m.Labels = map[string]string{metalv1.LabelWatchFilter: filter}
	}
	return m
}

// TestAlone: one installation to a filter, and one filter to a namespace.
func TestAlone(t *testing.T) {
	const own = "own"
	for what, c := range map[string]struct {
		filter  string
		secrets []metav1.PartialObjectMetadata
		refused string
	}{
		"nobody":                          {"", nil, ""},
		"itself":                          {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "a")}, ""},
		"an older one":                    {"", []metav1.PartialObjectMetadata{keysOf(own, 0, ""), keysOf("other", time.Hour, "")}, `namespace "other"`},
		"an older one with its filter":    {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "a"), keysOf("other", time.Hour, "a")}, `namespace "other"`},
		"one, at the first start":         {"a", []metav1.PartialObjectMetadata{keysOf("other", 0, "a")}, `namespace "other"`},
		"a younger one":                   {"a", []metav1.PartialObjectMetadata{keysOf(own, time.Hour, "a"), keysOf("other", 0, "a")}, ""},
		"an older one without a filter":   {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "a"), keysOf("other", time.Hour, "")}, ""},
		"an older one of another filter":  {"a", []metav1.PartialObjectMetadata{keysOf("other", time.Hour, "b")}, ""},
		"a filter, beside none":           {"", []metav1.PartialObjectMetadata{keysOf("other", time.Hour, "b")}, ""},
		"another filter than before":      {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "b")}, `--watch-filter: is "a"`},
		"a filter where there was none":   {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "")}, `--watch-filter: is "a"`},
		"no filter where there was one":   {"", []metav1.PartialObjectMetadata{keysOf(own, 0, "b")}, `--watch-filter: is ""`},
		"another filter, and an older of": {"a", []metav1.PartialObjectMetadata{keysOf(own, 0, "b"), keysOf("other", time.Hour, "a")}, "--watch-filter"},
	} {
		filter, err := watchfilter.Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		err = alone(c.secrets, own, filter)
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: does not say %s: %v", what, c.refused, err)
		}
	}
}
