package turn

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestFirst(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	maintenance := func(name string, change ...func(*metalv1.ServerMaintenance)) metalv1.ServerMaintenance {
		m := metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)}}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	enforced := func(m *metalv1.ServerMaintenance) { m.Spec.Policy = metalv1.ServerMaintenancePolicyEnforced }
	later := func(m *metalv1.ServerMaintenance) { m.CreationTimestamp = metav1.NewTime(start.Add(time.Second)) }
	urgent := func(m *metalv1.ServerMaintenance) { m.Spec.Priority = 1 }
	failed := func(m *metalv1.ServerMaintenance) { m.Status.State = metalv1.ServerMaintenanceStateFailed }
	ended := func(m *metalv1.ServerMaintenance) { m.DeletionTimestamp = &metav1.Time{Time: start} }
	ignored := func(m *metalv1.ServerMaintenance) {
		m.Annotations = map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}
	}
	approval := func(value string) *metalv1.ServerClaim {
		return &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{metalv1.LabelMaintenanceApproved: value}}}
	}
	former := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{metalv1.LabelMaintenanceApproval: "true"}}}
	torn := approval("false")
	torn.Labels[metalv1.LabelMaintenanceApproval] = "true"
	type queue = []metalv1.ServerMaintenance
	for name, tc := range map[string]struct {
		queue queue
		claim *metalv1.ServerClaim
		self  string
		want  string
	}{
		"nobody waits":                      {nil, nil, "", ""},
		"by name":                           {queue{maintenance("b"), maintenance("a")}, nil, "", "a"},
		"by age before name":                {queue{maintenance("b"), maintenance("a", later)}, nil, "", "b"},
		"by policy before age":              {queue{maintenance("b"), maintenance("a", later, enforced)}, nil, "", "a"},
		"by priority before policy":         {queue{maintenance("b", urgent), maintenance("a", enforced)}, nil, "", "b"},
		"who has ended, failed, is ignored": {queue{maintenance("a", ended), maintenance("b", failed), maintenance("c", ignored), maintenance("d", later)}, nil, "", "d"},
		"nobody has agreed":                 {queue{maintenance("a"), maintenance("b", enforced, later)}, &metalv1.ServerClaim{}, "", "b"},
		"its owner has refused":             {queue{maintenance("a")}, approval("false"), "", ""},
		"its owner has agreed as before":    {queue{maintenance("a"), maintenance("b")}, former, "", "a"},
		"its owner has agreed and refused":  {queue{maintenance("a")}, torn, "", ""},
		"its owner has agreed":              {queue{maintenance("a"), maintenance("b")}, approval("true"), "", "a"},
		"who asks counts in any case":       {queue{maintenance("a", failed), maintenance("b")}, nil, "a", "a"},
	} {
		var self *metalv1.ServerMaintenance
		if tc.self != "" {
			m := maintenance(tc.self)
			self = &m
		}
		got := ""
		if first := First(tc.queue, tc.claim, self); first != nil {
			got = first.Name
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestGranted(t *testing.T) {
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "u"}}
	for name, tc := range map[string]struct {
		ref  *metalv1.ObjectReference
		mark string
		want bool
	}{
		"nobody has it":            {nil, Mark(m), false},
		"granted":                  {&metalv1.ObjectReference{Namespace: "ns", Name: "m"}, Mark(m), true},
		"by somebody else":         {&metalv1.ObjectReference{Namespace: "ns", Name: "m"}, "", false},
		"to another before":        {&metalv1.ObjectReference{Namespace: "ns", Name: "m2"}, Mark(m), false},
		"to one of a longer name":  {&metalv1.ObjectReference{Namespace: "ns", Name: "m"}, "ns/m2@u", false},
		"to one of another's name": {&metalv1.ObjectReference{Namespace: "n", Name: "m"}, Mark(m), false},
	} {
		s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metalv1.AnnotationMaintainedBy: tc.mark}}}
		s.Spec.ServerMaintenanceRef = tc.ref
		if got := Granted(s); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
