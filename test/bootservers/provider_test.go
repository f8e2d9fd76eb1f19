package bootservers

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAnotherBootProvider: where another program serves boots, a boot configuration says that no boot server has its boot, until one has.
func TestAnotherBootProvider(t *testing.T) {
	w := newWorld(t, 1)
	w.manager.Kill()
	for _, b := range w.servers {
		b.Kill()
	}
	w.managerArgs = append(w.managerArgs, "--boot-provider", "external")
	w.startManager()
	for _, info := range w.BMCs() {
		w.Endpoint(w.Running, info)
	}
	says := func(reason string) func(context.Context) error {
		return func(ctx context.Context) error {
			boots, err := w.ready(ctx)
			if err != nil {
				return err
			}
			said := ""
			if c := apimeta.FindStatusCondition(boots.Status.Conditions, bootv1.ConditionBootServerReached); c != nil {
				said = c.Reason
			}
			if said != reason {
				return fmt.Errorf("it says %q: %+v", said, boots.Status.Conditions)
			}
			return nil
		}
	}
	w.Eventually("that no boot server is connected", says(bootv1.ReasonNoBootServer))
	w.servers[0].start()
	w.Eventually("that one has it", says(""))
}

// ready does what the other boot provider does: it makes the boot configuration of the machine Ready.
func (w *world) ready(ctx context.Context) (*metalv1.ServerBootConfiguration, error) {
	var all metalv1.ServerBootConfigurationList
	if err := w.List(ctx, &all); err != nil {
		return nil, err
	}
	if len(all.Items) != 1 {
		return nil, errNone
	}
	boots := &all.Items[0]
	if boots.Status.State == metalv1.ServerBootConfigurationStateReady {
		return boots, nil
	}
	before := boots.DeepCopy()
	boots.Status.State = metalv1.ServerBootConfigurationStateReady
	return boots, w.Status().Patch(ctx, boots, client.MergeFrom(before))
}
