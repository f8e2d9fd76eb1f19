package grant

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

const machine = "47c6da67-7477-4970-aa03-84e48ff4f6ad"

func namespace(name, grant string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(controllertest.Start)}}
	if grant != "" {
		ns.Annotations = map[string]string{ipxev1.AnnotationBootIdentities: grant}
	}
	return ns
}

func TestOf(t *testing.T) {
	its := assignment.NewSelector(map[string]string{"uuid": machine}, nil)
	for name, c := range map[string]struct {
		namespace string
		all       bool
		place     *assignment.Tenancy
		missing   string // empty: granted
	}{
		"the operator's":             {namespace: "system"},
		"nothing granted":            {namespace: "bare", missing: "uuid:" + machine},
		"granted":                    {namespace: "granted", place: &assignment.Tenancy{Since: controllertest.Start}},
		"something else":             {namespace: "other", missing: "uuid:" + machine},
		"not to be read":             {namespace: "typo", missing: `annotation farrier.dev/boot-identities of Namespace "typo" is invalid and grants nothing`},
		"all count":                  {namespace: "bare", all: true, place: &assignment.Tenancy{Breadth: assignment.Everything, Since: controllertest.Start}},
		"all count, granted by name": {namespace: "granted", all: true, place: &assignment.Tenancy{Since: controllertest.Start}},
		"all count, not to be read":  {namespace: "typo", all: true, place: &assignment.Tenancy{Breadth: assignment.Everything, Since: controllertest.Start}},
	} {
		t.Run(name, func(t *testing.T) {
			api := controllertest.NewAPI(t, namespace("bare", ""), namespace("granted", "uuid:"+machine), namespace("other", "serial:x"), namespace("typo", "uuid:"+machine+" *x"))
			n := &Namespaces{Reader: api, Operators: []string{"system"}, All: c.all}
			for range 2 { // the second time from memory
				has, err := n.Of(t.Context(), c.namespace)
				if err != nil {
					t.Fatal(err)
				}
				place, missing, ok := has.Tenancy(its)
				if ok != (c.missing == "") || !strings.Contains(missing, c.missing) {
					t.Fatalf("granted %t, missing %q", ok, missing)
				}
				if (place == nil) != (c.place == nil) || place != nil && (place.Breadth != c.place.Breadth || !place.Since.Equal(c.place.Since)) {
					t.Errorf("place %+v, want %+v", place, c.place)
				}
			}
		})
	}
}

func TestANamespaceThatIsNotKnownIsAwaited(t *testing.T) {
	n := &Namespaces{Reader: controllertest.NewAPI(t), All: true}
	var waiting reconcileerror.Waiting
	if has, err := n.Of(t.Context(), "gone"); !errors.As(err, &waiting) || has.Counts() {
		t.Errorf("%+v, %v", has, err)
	}
}
