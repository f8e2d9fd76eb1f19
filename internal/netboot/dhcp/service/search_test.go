package service

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	v4 "github.com/farrier-dev/farrier/internal/netboot/dhcp/v4"
)

// ether stands for a segment.
type ether struct {
	heard   [][]byte // what everybody answers
	err     func(search int) error
	asked   []time.Time
	changed map[string]bool // transactions
}

func (e *ether) Broadcast(ctx context.Context, _, _ netip.AddrPort, payload []byte, heard func(netip.AddrPort, []byte)) error {
	e.asked, e.changed[string(payload[4:8])] = append(e.asked, time.Now()), true
	for _, b := range e.heard {
		b = slices.Clone(b)
		copy(b[4:8], payload[4:8])     // the transaction
		copy(b[28:34], payload[28:34]) // the client
		heard(netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), v4.ServerPort), b)
	}
	if err := e.err(len(e.asked)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// offer is one of 192.0.2.9.
func offer() []byte {
	b := make([]byte, 236, 300)
	b[0], b[1], b[2] = 2, 1, 6
	copy(b[16:], []byte{192, 0, 2, 100})
	return append(b, 99, 130, 83, 99, 53, 1, 2, 54, 4, 192, 0, 2, 9, 255)
}

// searching runs a search on a segment for a while, and returns whom it has found, when clients were answered first, and what the log says.
func searching(t *testing.T, segment *ether, d time.Duration) (found []netip.Addr, served time.Duration, said string) {
	t.Helper()
	var lines strings.Builder
	segment.changed = map[string]bool{}
	s := &search{
		questions: v4.NewSearch(net.HardwareAddr{2, 0, 0, 0, 0, 1}), segment: segment, clock: clock.RealClock{}, link: "eth0", found: func(a netip.Addr) { found = append(found, a) },
		logger: funcr.New(func(_, line string) { lines.WriteString(line + "\n") }, funcr.Options{}),
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	s.run(ctx, sync.OnceFunc(func() { served = time.Since(begin) }))
	synctest.Wait()
	return found, served, lines.String()
}

func TestOtherServersAreSearchedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		segment := &ether{heard: [][]byte{append([]byte("garbage"), make([]byte, 300)...), offer()}, err: func(int) error { return nil }}
		found, served, said := searching(t, segment, 3*searchEvery+time.Minute)
		if len(segment.asked) != 8 || len(segment.changed) != 4 || segment.asked[1].Sub(segment.asked[0]) != searchTime || segment.asked[4].Sub(segment.asked[2]) != searchEvery {
			t.Errorf("asked at %v, in %d transactions", segment.asked, len(segment.changed))
		}
		if len(found) != 8 || found[0].String() != "192.0.2.9" || said != "" {
			t.Errorf("found %v, said %q", found, said)
		}
		if served != searchFirst {
			t.Errorf("clients are answered after %s", served)
		}
	})
}

// A link that is down is said once each time; without the right to search, nobody waits for it.
func TestASearchThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("network is down")
		segment := &ether{err: func(search int) error {
			if search == 3 || search == 4 { // the two of the third search
				return nil
			}
			return down
		}}
		_, served, said := searching(t, segment, 5*searchEvery+time.Minute)
		if n := strings.Count(said, down.Error()); n != 2 || len(segment.asked) != 7 {
			t.Errorf("asked %d times, said %d times: %s", len(segment.asked), n, said)
		}
		if served != 0 {
			t.Errorf("clients are answered after %s", served)
		}
	})
}

// A term may end while it searches for the first time: whoever waits goes on, and ends too.
func TestAnEndWithinTheFirstSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, served, _ := searching(t, &ether{err: func(int) error { return nil }}, time.Second); served != time.Second {
			t.Errorf("whoever waits goes on after %s", served)
		}
	})
}
