package acceptance

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// subscriptions waits until that many stand at a BMC, and returns them.
func (l *lab) subscriptions(p *running, i, want int) []bmc.Subscription {
	p.t.Helper()
	info := l.BMCs()[i]
	c := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}, bmc.Credentials{Username: "admin", Password: "factory"}, bmc.Options{})
	defer func() { _ = c.Close(context.WithoutCancel(p.t.Context())) }()
	var list []bmc.Subscription
	p.Eventually(fmt.Sprintf("%d subscriptions at %s", want, info.Name), func(ctx context.Context) (err error) {
		if list, err = c.Subscriptions(ctx, nil); err == nil && len(list) != want {
			err = fmt.Errorf("there are %d", len(list))
		}
		return err
	})
	return list
}

// TestEvents: a power button is pressed and the next poll is an hour away; a product that was killed and comes
// back elsewhere moves its subscriptions instead of adding to them; one that wants no events any more, or whose BMC
// object goes, leaves none.
func TestEvents(t *testing.T) {
	l := newLab(t, 2)
	args := []string{"--bmc-poll-interval", "1h", "--bmc-events-address", "127.0.0.1:0"}
	p := l.up(t, args...)
	l.discover(p)
	p.bmcIs("sim-0001", "EventsSubscribed", "Subscribed")
	before := l.subscriptions(p, 0, 2)
	server := "sim-0001-system-0"
	m := l.machine(p, server)
	switchedOff := func() int { return m.Resets()["ForceOff"] + m.Resets()["GracefulShutdown"] }
	offs := switchedOff()
	if _, err := m.Reset("On"); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the power button is noticed", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: server}, &s); err != nil {
			return err
		}
		if s.Status.PowerState == metalv1.PowerStateOff && switchedOff() == offs {
			return fmt.Errorf("the Server is said to be off")
		}
		return nil
	})

	p.Kill()
	p = l.up(t, args...)
	p.Eventually("the subscriptions have moved", func(context.Context) error {
		for _, s := range l.subscriptions(p, 0, 2) {
			if s.Destination == before[0].Destination || s.Destination == before[1].Destination {
				return fmt.Errorf("%s still has its old destination", s.URI)
			}
		}
		return nil
	})

	p.Stop()
	p = l.up(t, "--bmc-poll-interval", "1h")
	l.subscriptions(p, 0, 0)
	l.subscriptions(p, 1, 0)
}

// TestADeletedBMCIsLeft: its subscriptions go before the object does.
func TestADeletedBMCIsLeft(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--bmc-events-address", "127.0.0.1:0")
	l.endpoint(p, l.BMCs()[0])
	b := p.bmcIs("sim-0001", "EventsSubscribed", "Subscribed")
	l.subscriptions(p, 0, 2)
	var e metalv1.Endpoint
	if err := p.Get(t.Context(), client.ObjectKey{Name: "sim-0001"}, &e); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), &e); err != nil { // or it makes the BMC anew
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.subscriptions(p, 0, 0)
	p.Eventually("the BMC is gone", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there, or %w", err)
		}
		return nil
	})
}
