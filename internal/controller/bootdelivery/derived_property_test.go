package bootdelivery

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// derivedDeliveries are those that conditions tell of, by the condition.
var derivedDeliveries = map[string]bootview.DeliveryKind{
	bootv1.ConditionIPXEScriptFetched: bootview.DeliveredScript, bootv1.ConditionKernelFetched: bootview.DeliveredArtifact,
	bootv1.ConditionIgnitionDataFetched: bootview.DeliveredIgnition,
}

// replicas are processes of which one leads, while a machine boots again and again.
type replicas struct {
	*fleet
	all    []*replica
	leader int
	end    context.CancelFunc
	orders int
	// said are the deliveries of the attempt that is open that status has told of.
	said map[string]bool
}

func (r *replicas) leads(t *testing.T, next int) {
	if r.end != nil {
		r.all[r.leader].leads.End()
		r.end()
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.leader, r.end = next, cancel
	r.all[next].leads.Begin(ctx)
}

// step has one controller of one process look at the boot configuration, as it is woken or not.
func (r *replicas) step(t *testing.T, who, what int) {
	if what == 0 {
		r.Step(t, r.all[who].configs, probe)
		return
	}
	r.Step(t, r.all[who].methods[what-1], probe)
}

// check finds what status has told of the boot that is open and tells no more.
func (r *replicas) check(t *testing.T) error {
	config := r.config(t)
	attempt := bootattempt.Of(config)
	for kind := range derivedDeliveries {
		is := attempt.Concerns(config.Status.DeliveryAttempt, apimeta.FindStatusCondition(config.Status.Conditions, kind))
		if r.said[kind] && !is {
			return fmt.Errorf("%s of attempt %s is lost: attempt %q, %v", kind, attempt.ID, config.Status.DeliveryAttempt, config.Status.Conditions)
		}
		r.said[kind] = is
	}
	return nil
}

// TestNothingSaidOfADerivedBootIsLost: whoever leads, whoever answers the machine, whoever is killed, and whichever controller looks first, what status
// has told of a boot stays until the next is ordered, and all processes give the machine the same in the end.
func TestNothingSaidOfADerivedBootIsLost(t *testing.T) {
	image := localregistry.Image{Kernel: []byte("kernel"), Initramfs: []byte("initramfs"), UKI: []byte("uki")}
	resolved := newFleet(t, image)
	rapid.Check(t, func(rt *rapid.T) {
		f := resolved.anew(t)
		r := &replicas{fleet: f, all: []*replica{f.starts(t, false), f.starts(t, false)}, said: map[string]bool{}}
		r.leads(t, 0)
		defer func() { r.end() }()
		r.all[0].settle(t)
		r.next(t)
		for range rapid.IntRange(20, 80).Draw(rt, "events") {
			who := rapid.IntRange(0, 1).Draw(rt, "who")
			switch rapid.IntRange(0, 9).Draw(rt, "event") {
			case 0:
				r.leads(t, who)
			case 1:
				r.all[who] = f.starts(t, rapid.Bool().Draw(rt, "registry away"))
				r.all[who].View.SetSynced(true)
				r.leads(t, r.leader)
			case 2:
				r.next(t)
			case 3, 4:
				kind := rapid.SampledFrom([]string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionKernelFetched, bootv1.ConditionIgnitionDataFetched}).Draw(rt, "fetched")
				f.fetches(r.all[who], derivedDeliveries[kind], bootattempt.Of(r.config(t)).ID)
			default:
				r.step(t, who, rapid.IntRange(0, len(r.all[who].methods)).Draw(rt, "controller"))
			}
			if err := r.check(t); err != nil {
				rt.Fatal(err)
			}
		}
		for _, one := range append(r.all, r.all...) {
			one.settle(t)
		}
		if err := r.check(t); err != nil {
			rt.Fatal(err)
		}
		if a, b := r.all[0].script(t), r.all[1].script(t); a != b {
			rt.Fatalf("one gives it\n%s\nthe other\n%s", a, b)
		}
	})
}

// next orders the next boot, as the controller of servers does.
func (r *replicas) next(t *testing.T) {
	if _, settled := r.all[r.leader].Derived.Settled(r.config(t)); !settled {
		return // it would wait
	}
	r.orders++
	r.all[r.leader].order(t, fmt.Sprintf("attempt-%d", r.orders))
	clear(r.said)
}
