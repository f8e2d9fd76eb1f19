package bootstream

import (
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
)

var errNotItsTurn = errors.New("another manager leads")

// turn says whether a manager leads.
type turn struct {
	mu      sync.Mutex
	leads   bool
	changed chan struct{}
}

func newTurn(leads bool) *turn { return &turn{leads: leads, changed: make(chan struct{})} }

func (t *turn) set(leads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leads = leads
	close(t.changed)
	t.changed = make(chan struct{})
}

// take has a manager take turns. Its heartbeats come too seldom to notice anything by.
func (t *turn) take(o *ServerOptions) {
	o.Heartbeat = time.Hour
	o.Ready = func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.leads {
			return errNotItsTurn
		}
		return nil
	}
	o.Changed = func() <-chan struct{} {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.changed
	}
}

// TestBootServersFollowTheManagerThatLeads: when another leads they go to that one, and what they tell the first is not taken.
func TestBootServersFollowTheManagerThatLeads(t *testing.T) {
	var n network
	first, second := newTurn(true), newTurn(false)
	one, two := newManager(t, "", first.take), newManager(t, "", second.take)
	n.set("one", one)
	n.set("two", two)
	for _, m := range []*manager{one, two} {
		m.journal.Put("", machine("Kind/ns/a", 1, "first"))
	}
	f, a := n.follow(t, nil, "two", "one")
	await.True(t, "the manager that leads", func() bool { return f.State().Manager == "one" && a.isSynced() })
	first.set(false)
	second.set(true)
	await.True(t, "the next manager that leads", func() bool { return f.State().Manager == "two" && len(two.BootServers()) == 1 })
	if followers := one.BootServers(); len(followers) != 0 {
		t.Errorf("the first manager still has %+v", followers)
	}
	two.journal.Put("", machine("Kind/ns/a", 2, "second"))
	await.True(t, "its changes", same(a, map[string]string{"Kind/ns/a": "second"}))
	if _, err := one.Tell(t.Context(), &streampb.TellRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("told the one that does not lead: %v", err)
	}
	if _, err := two.Tell(t.Context(), &streampb.TellRequest{}); err != nil {
		t.Errorf("told the one that leads: %v", err)
	}
}
