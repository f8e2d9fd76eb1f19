package overview

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/place"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func says(kind, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: "words", LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}}
}

// TestASentenceIsThatOfTheDiagnosis: whatever is wrong, a server has the reason, the sentence and the time of its diagnosis, and so have the groups.
func TestASentenceIsThatOfTheDiagnosis(t *testing.T) {
	ordered := noon.Add(-time.Hour)
	for name, c := range map[string]struct {
		change func(*metalv1.Server, *metalv1.BMC, *metalv1.ServerBootConfiguration)
		reason string
	}{
		"BMC": {func(_ *metalv1.Server, b *metalv1.BMC, _ *metalv1.ServerBootConfiguration) {
			b.Status.Conditions = says(metalv1.ConditionReady, metalv1.ReasonAuthenticationFailed)
		}, metalv1.ReasonAuthenticationFailed},
		"server": {func(s *metalv1.Server, _ *metalv1.BMC, _ *metalv1.ServerBootConfiguration) {
			s.Status.Conditions = says(metalv1.ConditionCleaned, metalv1.ReasonCleanupFailed)
		}, metalv1.ReasonCleanupFailed},
		"image": {func(_ *metalv1.Server, _ *metalv1.BMC, b *metalv1.ServerBootConfiguration) {
			b.Status.Conditions = says(metalv1.ConditionImageValidation, metalv1.ReasonValidationFailed)
		}, metalv1.ReasonValidationFailed},
		"overdue": {func(_ *metalv1.Server, _ *metalv1.BMC, b *metalv1.ServerBootConfiguration) {
			b.Annotations = map[string]string{metalv1.AnnotationBootAttempt: (&bootattempt.Attempt{ID: "1", Number: 1, Ordered: &ordered, Off: &ordered, Started: &ordered}).String()}
		}, diagnosis.ReasonNoRequest},
	} {
		t.Run(name, func(t *testing.T) {
			server, bmc := metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7"}}, metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "bmc-7"}}
			boot := metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			server.Spec.BMCRef = &metalv1.LocalObjectReference{Name: bmc.Name}
			server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: boot.Namespace, Name: boot.Name}
			server.Status.State, server.Status.PowerState = metalv1.ServerStateReserved, metalv1.PowerStateOn
			c.change(&server, &bmc, &boot)
			want := diagnosis.Explain(&diagnosis.Facts{Now: noon, Asked: server.Name, Server: &server, BMC: &bmc, Config: &boot})
			fleet := Of(&Objects{Servers: []metalv1.Server{server}, BMCs: []metalv1.BMC{bmc}, Boots: []metalv1.ServerBootConfiguration{boot}}, Filter{}, noon)
			got := fleet.Servers[0]
			if want.Reason != c.reason || !got.Trouble || got.Reason != c.reason || got.Doing != want.Cause || got.Since == nil || !got.Since.Equal(want.Since) || !got.Since.Equal(ordered) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if len(fleet.Trouble) != 1 || fleet.Trouble[0].Reason != c.reason || fleet.Trouble[0].Message != want.Cause || fleet.Trouble[0].Next != want.Next {
				t.Errorf("%+v, want %+v", fleet.Trouble, want)
			}
		})
	}
}

// TestWhatSomebodyAskedForIsNoTrouble: a parked server is not red.
func TestWhatSomebodyAskedForIsNoTrouble(t *testing.T) {
	server := metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7", Annotations: map[string]string{metalv1.AnnotationParked: metalv1.AnnotationTrue}}}
	server.Status.State = metalv1.ServerStateParked
	if fleet := Of(&Objects{Servers: []metalv1.Server{server}}, Filter{}, noon); fleet.Servers[0].Trouble || len(fleet.Trouble) != 0 {
		t.Errorf("%+v", fleet)
	}
}

// TestTheRackOfAServer: whoever labels a server for the dashboard finds it by its rack, and so does whoever did it for metal-operator.
func TestTheRackOfAServer(t *testing.T) {
	for name, meta := range map[string]metav1.ObjectMeta{
		"of the dashboard":         {Labels: map[string]string{"farrier.dev/rack": "r7"}},
		"of metal-operator":        {Labels: map[string]string{metalv1.MetadataPrefix + "rack": "r7"}},
		"noted for metal-operator": {Annotations: map[string]string{metalv1.MetadataPrefix + "rack": "r7"}},
	} {
		s := &metalv1.Server{ObjectMeta: meta}
		if got := place.Of(s).Rack; got != "r7" {
			t.Errorf("%s: rack %q", name, got)
		}
		if !(Filter{Rack: "r7"}).takes(s) || (Filter{Rack: "r8"}).takes(s) {
			t.Errorf("%s: a filter chooses another rack", name)
		}
	}
}
