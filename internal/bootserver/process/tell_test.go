package process

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/outbox"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/test/await"
)

// listener is a manager that counts the deliveries of each request.
type listener struct {
	streampb.BootStreamClient
	mu   sync.Mutex
	told []int
}

func (l *listener) Tell(_ context.Context, r *streampb.TellRequest, _ ...grpc.CallOption) (*streampb.TellResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, len(r.GetDeliveries()))
	return &streampb.TellResponse{}, nil
}

func (l *listener) requests() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.told...)
}

// TestWhatMachinesAreGivenIsToldTogether: the first at once, and what comes soon after it in one request.
func TestWhatMachinesAreGivenIsToldTogether(t *testing.T) {
	clock, l := clocktesting.NewFakeClock(time.Now()), &listener{}
	box := outbox.Open(outbox.Config{Logger: logr.Discard(), Clock: clock})
	teller := &teller{
		manager: func() streampb.BootStreamClient { return l }, outbox: box, status: newStatus(clock, 0), clock: clock, logger: logr.Discard(),
	}
	running := start(t.Context(), teller.Run)
	t.Cleanup(running.stop)
	deliver := func(i int) {
		box.Deliver(bootview.Delivery{Kind: bootview.DeliveredScript, UUID: fmt.Sprint(i), Status: 200, Time: clock.Now()})
	}
	deliver(0)
	await.True(t, "the first delivery told", func() bool { return len(l.requests()) == 1 })
	const more = mostTold - 1
	for i := range more {
		deliver(i + 1)
		runtime.Gosched() // it may be told now, if it would
	}
	await.True(t, "the others told", func() bool {
		clock.Step(gathering)
		return len(l.requests()) > 1
	})
	if got := l.requests(); got[1] != more {
		t.Errorf("requests of %v deliveries, want 1 and %d", got, more)
	}
}
