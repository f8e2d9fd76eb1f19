package tftp

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/inbound/udp"
)

const (
	// maxTransfers and maxPerHost are how many there may be at a time; a rack behind one address is a host.
	maxTransfers, maxPerHost = 1024, 64
	// requests of a host a second, and at once.
	perSecond, atOnce = 50, 200
	// firstWait is how long an acknowledgement is awaited; each time longer, until longestWait.
	firstWait, longestWait = time.Second, 8 * time.Second
	// triesUnheard and tries are how often a packet is sent before the client has ever answered, and later.
	triesUnheard, tries = 3, 6
	// longest is how long a transfer may take: that of some megabytes over a slow line.
	longest      = 10 * time.Minute
	maxPacket    = 2 << 10
	readBuffer   = 1 << 20
	linesAMinute = 5
)

// Files are what can be read.
type Files interface {
	File(path string) (*os.File, fs.FileInfo, error)
}

// Config is what a Server is made of.
type Config struct {
	Files Files
	// Fetched is told of files that were sent completely, or are not there; nil: nobody is.
	Fetched func(file string, from netip.Addr, bytes int64, ok bool)
	// SinglePort answers from the port that was asked.
	SinglePort bool
	Logger     logr.Logger
	Clock      clock.WithTicker // nil: the real one
}

// Server sends files. It is safe for concurrent use.
type Server struct {
	cfg            Config
	limiter        *ratelimit.Limiter
	missing, ended *ratelimit.Lines

	mu      sync.Mutex
	by      map[netip.AddrPort]*session
	hosts   map[netip.Addr]int
	running sync.WaitGroup
}

// session is a transfer to one client.
type session struct {
	*transfer
	client netip.AddrPort
	name   string
	wait   time.Duration
	// packets are those of the client.
	packets chan []byte
	send    func([]byte) error
	stop    func() // ends what reads for it
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Fetched == nil {
		cfg.Fetched = func(string, netip.Addr, int64, bool) {}
	}
	lines := func() *ratelimit.Lines { return ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock) }
	return &Server{
		cfg: cfg, limiter: ratelimit.New(perSecond, atOnce, cfg.Clock), by: map[netip.AddrPort]*session{}, hosts: map[netip.Addr]int{},
		missing: lines(), ended: lines(),
	}
}

// Serve answers what comes to a socket until ctx ends, and closes the socket.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	defer s.running.Wait()
	return udp.Serve(ctx, "TFTP", conn, udp.Limits{Packet: maxPacket, Waiting: readBuffer}, func(packet []byte, from netip.AddrPort) {
		if len(packet) >= 4 {
			s.packet(ctx, conn, packet, from)
		}
	})
}

func (s *Server) packet(ctx context.Context, conn *net.UDPConn, b []byte, from netip.AddrPort) {
	switch binary.BigEndian.Uint16(b) {
	case opRead:
		if s.limiter.Allow(from.Addr()) && !s.reads(from) {
			s.read(ctx, conn, b[2:], from)
		}
	case opWrite:
		if s.limiter.Allow(from.Addr()) {
			_, _ = conn.WriteToUDPAddrPort(errorPacket(codeAccess, "this server is for reading"), from)
		}
	default:
		s.hand(from, b)
	}
}

// reads reports whether a client reads already: its request has come twice, and what answers the first one is on its way.
func (s *Server) reads(from netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[from] != nil
}

// hand gives a packet to the transfer of its sender. What comes faster than it is taken is sent again.
func (s *Server) hand(from netip.AddrPort, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.by[from]; t != nil {
		select {
		case t.packets <- append([]byte(nil), b...):
		default:
		}
	}
}

// read begins a transfer.
func (s *Server) read(ctx context.Context, conn *net.UDPConn, b []byte, from netip.AddrPort) {
	refuse := func(code uint16, text string) { _, _ = conn.WriteToUDPAddrPort(errorPacket(code, text), from) }
	r, err := readRequest(b)
	if err != nil {
		refuse(codeIllegal, err.Error())
		return
	}
	f, info, err := s.cfg.Files.File(r.file)
	if err != nil {
		refuse(codeNotFound, "file not found")
		s.cfg.Fetched(r.file, from.Addr().Unmap(), 0, false)
		s.missing.Logger().Info("TFTP client asked for a file that is not there", "address", from.Addr().Unmap().String(), "file", r.file, "error", err)
		return
	}
	t := &session{transfer: newTransfer(f, info.Size(), r), client: from, name: r.file, wait: firstWait, packets: make(chan []byte, 2*maxWindow)}
	if r.timeout > 0 {
		t.wait = time.Duration(r.timeout) * time.Second
	}
	if !s.enter(t) {
		refuse(codeUndefined, "too many transfers")
		_ = f.Close()
		return
	}
	if err := s.connect(conn, t); err != nil {
		refuse(codeUndefined, "no port is free")
		s.leave(t)
		_ = f.Close()
		return
	}
	s.running.Go(func() {
		defer func() { _ = f.Close() }()
		defer s.leave(t)
		defer t.stop()
		s.run(ctx, t)
	})
}

// connect gives a transfer its port, or the one of the server.
func (s *Server) connect(conn *net.UDPConn, t *session) error {
	if s.cfg.SinglePort {
		t.send, t.stop = func(b []byte) error { _, err := conn.WriteToUDPAddrPort(b, t.client); return err }, func() {}
		return nil
	}
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return net.ErrClosed
	}
	own, err := net.DialUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone}, net.UDPAddrFromAddrPort(t.client))
	if err != nil {
		return err
	}
	t.send, t.stop = func(b []byte) error { _, err := own.Write(b); return err }, func() { _ = own.Close() }
	s.running.Go(func() {
		buf := make([]byte, maxPacket)
		for {
			n, err := own.Read(buf)
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				s.hand(t.client, errorPacket(codeUndefined, "")) // nobody is there any more (ICMP port unreachable)
				return
			}
			s.hand(t.client, buf[:n])
		}
	})
	return nil
}

func (s *Server) enter(t *session) bool {
	host := ratelimit.HostOf(t.client.Addr())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by) >= maxTransfers || s.hosts[host] >= maxPerHost {
		return false
	}
	s.by[t.client] = t
	s.hosts[host]++
	return true
}

func (s *Server) leave(t *session) {
	host := ratelimit.HostOf(t.client.Addr())
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, t.client)
	if s.hosts[host]--; s.hosts[host] <= 0 {
		delete(s.hosts, host)
	}
}

// run sends a file to its end.
func (s *Server) run(ctx context.Context, t *session) {
	deadline := s.cfg.Clock.NewTimer(longest)
	defer deadline.Stop()
	wait := t.wait
	for failed := 0; ; {
		packets, err := t.next()
		if err != nil {
			_ = t.send(errorPacket(codeUndefined, "the file cannot be read"))
			s.failed(t, err)
			return
		}
		for _, p := range packets {
			if err := t.send(p); err != nil {
				break // it is sent again, or its client is gone
			}
		}
		timer := s.cfg.Clock.NewTimer(wait)
		got := s.await(ctx, t, timer, deadline)
		timer.Stop()
		switch got {
		case waitTimeout:
			failed++
			if failed >= tries || !t.begun() && failed >= triesUnheard {
				s.failed(t, os.ErrDeadlineExceeded)
				return
			}
			wait = min(2*wait, max(longestWait, t.wait))
		case waitProgress:
			failed, wait = 0, t.wait
		case waitDone:
			s.cfg.Fetched(t.name, t.client.Addr().Unmap(), t.size, true)
			return
		case waitOver:
			return
		}
	}
}

func (s *Server) failed(t *session, err error) {
	s.ended.Logger().Info("TFTP transfer ended before its end", "address", t.client.Addr().Unmap().String(), "file", t.name, "error", err)
}

type waited uint8

const (
	waitTimeout waited = iota
	waitProgress
	waitAgain
	waitDone
	waitOver
)

// await waits for what the client says next.
func (s *Server) await(ctx context.Context, t *session, timer, deadline clock.Timer) waited {
	for {
		select {
		case <-ctx.Done():
			return waitOver
		case <-deadline.C():
			s.failed(t, os.ErrDeadlineExceeded)
			return waitOver
		case <-timer.C():
			return waitTimeout
		case b := <-t.packets:
			if len(b) < 4 {
				continue
			}
			switch binary.BigEndian.Uint16(b) {
			case opError:
				return waitOver // error 8 after a size is how firmware asks for it (RFC 2347 §4); others are the client's affair too
			case opAck:
				switch t.ack(binary.BigEndian.Uint16(b[2:])) {
				case progress:
					return waitProgress
				case again:
					return waitAgain
				case done:
					return waitDone
				}
			}
		}
	}
}
