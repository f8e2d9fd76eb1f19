package service

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp/link"
	v6 "github.com/farrier-dev/farrier/internal/netboot/dhcp/v6"
)

const (
	// searchEvery is how often other servers are looked for.
	searchEvery = 5 * time.Minute
	// searchTries is how often each search asks: a packet may be lost, and a server that starts beside us may not listen yet.
	searchTries = 2
	// searchTime is how long answers are waited for: dnsmasq first asks three seconds for the address that it is about to offer.
	searchTime = 4 * time.Second
	// searchFirst is how long nobody is answered before the first search. Most servers answer at once, and firmware that gets no answer asks again after four seconds.
	searchFirst = 2 * time.Second
)

const cannotSearch = "DHCP servers of others cannot be searched for"

var errNoLinkLocal = errors.New("the interface has no link-local IPv6 address")

// broadcaster asks all hosts of a segment; link.Raw implements it.
type broadcaster interface {
	Broadcast(ctx context.Context, from, to netip.AddrPort, payload []byte, heard func(netip.AddrPort, []byte)) error
}

// questions are those of one version of IP; v4.Search and v6.Search are.
type questions interface {
	// Ends are where a question comes from and goes to.
	Ends() (from, to netip.AddrPort)
	// Question is what is asked in a transaction, and Server who answers it.
	Question(id [4]byte) []byte
	Server(answer []byte, from netip.Addr, id [4]byte) (netip.Addr, bool)
}

// search looks for other DHCP servers on a segment.
type search struct {
	questions
	segment broadcaster
	found   func(netip.Addr)
	clock   clock.WithDelayedExecution
	logger  logr.Logger
	link    string
}

// searchServers has other servers looked for on a link, before anybody is answered there.
func (r *running) searchServers(i link.Interface, segment broadcaster, q questions) {
	if r.pool == nil {
		return
	}
	s := &search{
		questions: q, segment: segment, clock: clock.RealClock{}, logger: r.Logger, link: i.Name,
		found: func(a netip.Addr) { r.otherServer(i.Name, a) },
	}
	r.searched.Add(1)
	r.parts = append(r.parts, func(ctx context.Context) error {
		s.run(ctx, sync.OnceFunc(r.searched.Done))
		return nil
	})
}

// searchServers6 is the same over IPv6, which servers answer at an address of the link alone.
func (r *running) searchServers6(i link.Interface) {
	from, has := i.LinkLocal()
	if r.pool == nil {
		return
	}
	if !has {
		r.Logger.Info(cannotSearch, "link", i.Name, "error", errNoLinkLocal)
		return
	}
	raw := link.OpenRaw(i)
	r.closers = append(r.closers, raw.Close)
	r.searchServers(i, raw, v6.NewSearch(i.MAC, from))
}

// run searches until ctx ends. first is called when the first search has had its time, or cannot be made.
func (s *search) run(ctx context.Context, first func()) {
	defer first()
	waited := s.clock.AfterFunc(searchFirst, first)
	defer waited.Stop()
	again := s.clock.NewTimer(searchEvery)
	defer again.Stop()
	for failed := false; ; {
		err := s.once(ctx)
		if err != nil && !failed {
			s.logger.Info(cannotSearch, "link", s.link, "error", err)
		}
		if failed = err != nil; failed {
			first()
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C():
			again.Reset(searchEvery)
		}
	}
}

// once asks, and reports who answers.
func (s *search) once(ctx context.Context) error {
	var id [4]byte
	for n := range id {
		id[n] = byte(rand.Uint32())
	}
	sender, everybody := s.Ends()
	for range searchTries {
		short, cancel := context.WithTimeout(ctx, searchTime)
		err := s.segment.Broadcast(short, sender, everybody, s.Question(id), func(from netip.AddrPort, answer []byte) {
			if a, is := s.Server(answer, from.Addr(), id); is {
				s.found(a)
			}
		})
		if cancel(); err != nil {
			return err
		}
	}
	return nil
}
