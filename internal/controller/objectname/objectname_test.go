package objectname

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// possible and impossible are names as people write them.
var (
	possible   = []string{"a", "a-b", "a.b", "node-1.example.com", "0", strings.Repeat("a", 253)}
	impossible = []string{
		"", "../x", "x/y", ".", "..", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a b", "a\n", "a\x00", "ä", "%2e%2e", "a%2fb", "a?b", "a#b",
		strings.Repeat("a", 254), "\xff",
	}
)

func TestProblem(t *testing.T) {
	for _, name := range possible {
		if problem := Problem("Secret", name); problem != "" {
			t.Errorf("%q: %s", name, problem)
		}
	}
	for _, name := range impossible {
		if Problem("Secret", name) == "" {
			t.Errorf("%q: want a problem", name)
		}
	}
	if problem := Problem("Secret", strings.Repeat("Ä", 1<<20)); len(problem) > 512 {
		t.Errorf("the problem of a long name has %d bytes", len(problem))
	}
	if problem := NamespaceProblem("a.b"); problem == "" {
		t.Error("a namespace is a label, and a.b none")
	}
}

// asked is a reader that fails as client-go does for what it cannot put into a path.
type asked struct {
	client.Reader
	keys []client.ObjectKey
}

var errAsked = errors.New("the API was asked")

func (a *asked) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	a.keys = append(a.keys, key)
	return errAsked
}

func TestNobodyIsAskedForAnImpossibleName(t *testing.T) {
	live := &asked{}
	r := Reader(live)
	for _, name := range impossible {
		err := r.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "../kube-system", Name: "a"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("an impossible namespace: %v", err)
	}
	if len(live.keys) > 0 {
		t.Errorf("asked for %q", live.keys)
	}
	for _, name := range possible {
		if err := r.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &corev1.Secret{}); !errors.Is(err, errAsked) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := r.Get(t.Context(), client.ObjectKey{Name: "cluster-wide"}, &corev1.Namespace{}); !errors.Is(err, errAsked) {
		t.Errorf("without a namespace: %v", err)
	}
}

// FuzzProblem: what is possible is a segment of a path, so no client fails on it.
func FuzzProblem(f *testing.F) {
	for _, name := range append(append([]string(nil), possible...), impossible...) {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if Problem("Secret", name) == "" && len(content.IsPathSegmentName(name)) > 0 {
			t.Errorf("%q is possible, and no segment of a path", name)
		}
	})
}
