package acceptance

import (
	"context"
	"errors"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestWhatIsRemovedAboveAClaimedServer: its Endpoint and its BMC are deleted, and garbage is collected; the Server and its
// machine stay, and are looked after again when the BMC comes back. A free Server goes with its BMC.
func TestWhatIsRemovedAboveAClaimedServer(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.discover(p)
	_, before, _ := l.runs(p, "web")
	claimed := before.Name
	i := l.index(t, claimed)
	free := l.BMCs()[1-i].Name + "-system-0"
	resets := l.Machine(i).Resets()

	for _, info := range l.BMCs() {
		for _, obj := range []client.Object{&metalv1.Endpoint{ObjectMeta: objectMeta("", info.Name)}, &metalv1.BMC{ObjectMeta: objectMeta("", info.Name)}} {
			if err := p.Delete(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			p.Eventually("it is gone", func(ctx context.Context) error {
				if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("it is still there"), err)
				}
				return nil
			})
		}
	}
	p.Eventually("the free Server goes with its BMC", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Name: free}, &metalv1.Server{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
	p.serverSays(claimed, metalv1.ConditionReady, "False", "BMCNotFound")

	l.endpoint(p, l.BMCs()[i])
	p.serverSays(claimed, metalv1.ConditionReady, "True", "Reachable")
	after := p.serverIs(claimed, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if after.UID != before.UID || after.Spec.ServerClaimRef == nil || !after.DeletionTimestamp.IsZero() {
		t.Errorf("it is not the Server that was claimed: %v, claim %v", after.ObjectMeta, after.Spec.ServerClaimRef)
	}
	if got := l.Machine(i).Resets(); !maps.Equal(got, resets) {
		t.Errorf("the running machine was reset: %v, before %v", got, resets)
	}
}
