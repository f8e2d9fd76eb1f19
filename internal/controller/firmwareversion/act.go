package firmwareversion

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/maintenancerequest"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// lockTime is how long the exclusive lock lasts unless the object is reconciled again.
const lockTime = 10 * time.Minute

// powerOnBudget is for a self test after an update.
const powerOnBudget = verifyTimeout

// act carries a plan out. It writes facts before it submits what they guard.
func (r *Reconciler) act(ctx context.Context, v *view, key fleet.Key, p *plan) error {
	if err := r.maintain(ctx, v, p); err != nil {
		return err
	}
	before := v.item.copied()
	if p.release || p.maintain {
		v.item.name(r.request(v.item, v.servers).Record(v.maintenance, p.maintain))
	}
	if p.progress != nil && p.progress != v.progress {
		annotations := v.item.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[annotationProgress] = p.progress.String()
		v.item.SetAnnotations(annotations)
	}
	if !equality.Semantic.DeepEqual(before, v.item.Object) {
		if err := r.patch(ctx, v.item, before); err != nil {
			return fmt.Errorf("record the progress of the update: %w", err)
		}
		if p.progress != nil && v.progress.active() && !p.progress.active() && key != "" {
			r.Fleet.Unlock(key, v.item.holder())
			r.Fleet.Refresh(key) // what is told of the BMC shows the old version still
		}
		return nil // its write wakes the object again, and then it is read back
	}
	return r.order(v, key, p)
}

// maintain asks for the maintenances or ends them.
func (r *Reconciler) maintain(ctx context.Context, v *view, p *plan) error {
	if p.release {
		if err := maintenancerequest.End(ctx, r.Client, r.request(v.item, v.servers)); err != nil {
			return err
		}
	}
	if !p.maintain {
		return nil
	}
	created, err := maintenancerequest.Ask(ctx, r.Client, r.request(v.item, v.servers), v.maintenance)
	for _, ref := range created {
		r.event(v.item, corev1.EventTypeNormal, maintenancerequest.ReasonRequested, "Requested ServerMaintenance "+ref.Namespace+"/"+ref.Name)
	}
	return err
}

// order gives jobs and commands to the fleet.
func (r *Reconciler) order(v *view, key fleet.Key, p *plan) error {
	if key == "" || !v.answered {
		return nil
	}
	account := throttle.Account(v.item.kind.Name, v.item.GetName())
	if p.look || p.start {
		l, run := v.job(p)
		id := r.memories.begin(v.item.GetUID(), l, v.now)
		budget := jobBudget
		if p.start && v.fetched.image != nil {
			budget = pushBudget
		}
		if err := r.Fleet.Do(key, fleet.Job{ID: id, Budget: budget, Holder: v.item.holder(), Account: account, Run: run}); err != nil {
			return fmt.Errorf("submit the job that looks at the firmware: %w", err)
		}
	}
	if p.command == "" {
		return nil
	}
	cmd := fleet.Command{ID: v.commandID(), Kind: p.command, Holder: v.item.holder(), Account: account}
	switch p.command {
	case fleet.PowerOff:
		cmd.System, cmd.Force = v.component.system, v.enforce
	case fleet.PowerOn:
		// BMCs of some makes say that a machine is on when its self test is over.
		cmd.System, cmd.Budget, cmd.Boot = v.component.system, powerOnBudget, bmc.BootOverride{Target: bmc.BootSetup}
	case fleet.ResetManager:
		cmd.Reset = bmc.ResetForceRestart
	}
	if err := r.Fleet.Submit(key, cmd); err != nil {
		return fmt.Errorf("order %s: %w", cmd.Kind, err)
	}
	return nil
}

// job is what a plan has looked at, or started.
func (v *view) job(p *plan) (*look, func(context.Context, fleet.Services) error) {
	l, c := &look{begun: v.now, asked: v.asked}, v.component
	switch {
	case p.start:
		l.of, l.start = v.progress.Since, true
		i := intent{images: []string{v.image.uri, v.fetched.url}, at: v.progress.Since, skew: v.skew, known: v.progress.Known}
		n := v.install()
		unsure := v.progress.Sender != v.process || v.looked != nil && v.looked.start && v.looked.of.Equal(l.of) && v.looked.sent
		switch {
		case v.goesBackBy(farrierv1.RollbackOtherBank):
			return l, func(ctx context.Context, s fleet.Services) error { return l.changeBank(ctx, s, c, v.goal.version) }
		case v.goesBackBy(farrierv1.RollbackPreviousImage):
			return l, func(ctx context.Context, s fleet.Services) error {
				return l.reinstall(ctx, s, c, i, n, v.goal.version, unsure)
			}
		}
		return l, func(ctx context.Context, s fleet.Services) error { return l.begin(ctx, s, c, i, n, unsure) }
	case v.progress.active() && v.progress.Step != stepBegin:
		task := v.progress.Task
		return l, func(ctx context.Context, s fleet.Services) error { return l.follow(ctx, s, c, task) }
	}
	banks := v.needsBanks()
	return l, func(ctx context.Context, s fleet.Services) error { return l.compare(ctx, s, c, banks) }
}

// install says what is installed. An image that Farrier has is sent to the BMC, or fetched from Farrier, which needs no credentials.
func (v *view) install() install {
	force := v.goesBack() || v.item.spec.UpdatePolicy != nil && *v.item.spec.UpdatePolicy == metalv1.UpdatePolicyForce
	if v.fetched.url != "" {
		return install{image: v.fetched.image, Update: bmc.Update{ImageURI: v.fetched.url, Protocol: protocolOf("", v.fetched.url), Force: force}}
	}
	return install{image: v.fetched.image, Update: bmc.Update{
		ImageURI: v.image.uri, Protocol: protocolOf(v.hop.source.TransferProtocol, v.image.uri), Username: v.username, Password: v.password, Force: force,
	}}
}

// commandID is the ID of the command of the present step.
func (v *view) commandID() string {
	return fmt.Sprintf("%s/firmware/%s-%d", v.item.GetUID(), v.progress.Step, v.progress.Since.UnixNano())
}
