package status

import (
	"errors"
	"slices"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
)

// TestWatch: what has changed is told once, and while nobody answers the last picture stands, with the reason.
func TestWatch(t *testing.T) {
	look := func(servers ...metalv1.Server) *overview.Fleet {
		return overview.Of(&overview.Objects{Servers: servers}, overview.Filter{}, noon)
	}
	free, taken := server("node-1", metalv1.ServerStateAvailable, metalv1.PowerStateOff), claimed(server("node-1", metalv1.ServerStateReserved, metalv1.PowerStateOn), "web")
	w := NewWatch(clocktesting.NewFakePassiveClock(noon), Picture{}, look(free, server("node-2", metalv1.ServerStateParked, metalv1.PowerStateOff)))
	seen := 0
	news := func(want ...string) {
		t.Helper()
		var lines []string
		if lines, seen = w.News(seen); !slices.Equal(lines, want) {
			t.Errorf("news %q, want %q", lines, want)
		}
	}
	news("12:00:00  2 servers: 1 Available, 1 Parked")
	changed := w.Changed()
	w.Look(look(taken), nil)
	select {
	case <-changed:
	default:
		t.Error("nobody is told of the change")
	}
	news("12:00:00  node-1  Available → Reserved  On  default/web", "12:00:00  node-2  no longer there")
	w.Look(look(taken), nil)
	news()
	w.Look(nil, errors.New("nobody\x1b answers"))
	news("12:00:00  not known: nobody  answers")
	picture := w.Draw(80, 8, false)
	if len(picture) > 7 || !strings.HasSuffix(picture[0], "nobody  answers") || !strings.Contains(strings.Join(picture, "\n"), "node-1") {
		t.Errorf("picture %q", picture)
	}
	w.Look(look(taken), nil)
	if picture := w.Draw(80, 8, false); !strings.HasPrefix(picture[0], "1 server") {
		t.Errorf("picture %q", picture)
	}
}
