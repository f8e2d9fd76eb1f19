package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	// maxSSH bounds the connections to all BMCs together.
	maxSSH = 256
	// loginTimeout is how long a connection may take to log in.
	loginTimeout = 30 * time.Second
)

// commandLine is what the SSH server of a vendor's BMC leads to. The zero value is the serial console itself.
type commandLine struct {
	prompt  string
	command string // begins the console
	exec    bool   // also as a program of its own
	leave   string // keys that end the console
	said    bool   // Redfish says the command
}

// commandLines are those of the vendors.
var commandLines = map[Vendor]commandLine{
	Dell:       {"racadm>>", "console com2", true, "\x1c", true},
	HPE:        {"</>hpiLO-> ", "VSP", false, "\x1b(", false},
	Lenovo:     {"system> ", "console 1", false, "\x1b(", false},
	Supermicro: {"-> ", "start /system1/sol1", false, "\x1bT", false},
}

// hostKey is the key of the SSH servers of a rack, the same for one seed: whoever has a rack may accept it before it runs.
func hostKey(seed int64) (ssh.Signer, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "SSH host key of a simulated rack, seed %d", seed))
	return ssh.NewSignerFromSigner(ed25519.NewKeyFromSeed(sum[:]))
}

// SSHHostKey is the fingerprint of the SSH servers of the rack; empty: it has none.
func (r *Rack) SSHHostKey() string {
	if r.ssh == nil {
		return ""
	}
	return ssh.FingerprintSHA256(r.ssh.key.PublicKey())
}

// sshServers are the SSH servers of all BMCs of a rack.
type sshServers struct {
	key       ssh.Signer
	listeners []net.Listener
	byIP      map[netip.Addr]*bmc     // with one listener for all
	byPort    map[netip.AddrPort]*bmc // with one for each
	slots     chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil: stopped
}

// listenSSH opens the SSH servers, as the BMCs are reached: one listener for all or one for each.
func (r *Rack) listenSSH(ctx context.Context) error {
	if !r.opts.SSH {
		return nil
	}
	key, err := hostKey(r.opts.Seed)
	if err != nil {
		return err
	}
	s := &sshServers{key: key, byIP: map[netip.Addr]*bmc{}, byPort: map[netip.AddrPort]*bmc{}, slots: make(chan struct{}, maxSSH), conns: map[net.Conn]struct{}{}}
	if r.shared {
		l, err := r.opts.listenShared(ctx, "0.0.0.0:0")
		if err != nil {
			return fmt.Errorf("SSH servers of BMCs: %w", err)
		}
		s.listeners = []net.Listener{l}
		for _, b := range r.bmcs {
			b.sshPort, s.byIP[b.at.Addr()] = addrPort(l.Addr()).Port(), b
		}
	} else {
		for _, b := range r.bmcs {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(b.at.Addr().String(), "0"))
			if err != nil {
				closeAll(s.listeners)
				return fmt.Errorf("SSH server of BMC %s: %w", b.name(), err)
			}
			s.listeners = append(s.listeners, l)
			at := addrPort(l.Addr())
			b.sshPort, s.byPort[at] = at.Port(), b
		}
	}
	r.ssh = s
	return nil
}

// serveSSH has the SSH servers answer until the rack stops.
func (r *Rack) serveSSH() {
	if r.ssh == nil {
		return
	}
	context.AfterFunc(r.ctx, r.ssh.stop)
	for _, l := range r.ssh.listeners {
		r.running.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				select {
				case r.ssh.slots <- struct{}{}:
					r.running.Go(func() {
						defer func() { <-r.ssh.slots }()
						r.ssh.serve(conn)
					})
				default:
					_ = conn.Close()
				}
			}
		})
	}
}

// stop closes everything.
func (s *sshServers) stop() {
	closeAll(s.listeners)
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}

// keep remembers a connection until it is let go of; false: everything has stopped.
func (s *sshServers) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *sshServers) letGo(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

func (s *sshServers) serve(conn net.Conn) {
	at := addrPort(conn.LocalAddr())
	b := s.byPort[at]
	if b == nil {
		b = s.byIP[at.Addr()]
	}
	if b == nil || !s.keep(conn) {
		_ = conn.Close()
		return
	}
	defer s.letGo(conn)
	if _, hangs := b.struck(fault.ConsoleHang, ""); hangs {
		_, _ = io.Copy(io.Discard, conn) // until the client or the rack closes it
		return
	}
	config := &ssh.ServerConfig{
		MaxAuthTries: 3, ServerVersion: "SSH-2.0-BMC",
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			return nil, b.loginSSH(c.User(), string(password))
		},
	}
	config.AddHostKey(s.key)
	_ = conn.SetDeadline(time.Now().Add(loginTimeout))
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	go ssh.DiscardRequests(requests)
	var running sync.WaitGroup
	defer running.Wait()
	defer server.Close()
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		running.Go(func() { b.sshSession(channel, requests) })
	}
}

var errConsoleRefused = errors.New("refused")

func (b *bmc) loginSSH(user, password string) error {
	if _, refuses := b.struck(fault.ConsoleRefuse, ""); refuses {
		return errConsoleRefused
	}
	a, err := b.byPassword(user, password)
	if err == nil && a.role == roleReadOnly {
		err = errConsoleRefused
	}
	return err
}

// sshSession is what a client has opened: the console, or the command line.
func (b *bmc) sshSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	line := commandLines[b.quirks.vendor]
	for r := range requests {
		var payload struct{ Command string }
		switch r.Type {
		case "pty-req", "window-change", "env":
			_ = r.Reply(true, nil)
		case "exec":
			if !line.exec || ssh.Unmarshal(r.Payload, &payload) != nil {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			b.runCommand(channel, line, payload.Command)
			_, _ = channel.SendRequest("exit-status", false, make([]byte, 4))
			return
		case "shell":
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			b.shell(channel, line)
			_, _ = channel.SendRequest("exit-status", false, make([]byte, 4))
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

// shell is the command line, or the console where there is none.
func (b *bmc) shell(channel ssh.Channel, line commandLine) {
	if line.command == "" {
		b.runCommand(channel, line, "")
		return
	}
	_, _ = io.WriteString(channel, "\r\n"+line.prompt)
	var typed []byte
	one := make([]byte, 1)
	for {
		if _, err := channel.Read(one); err != nil {
			return
		}
		if one[0] != '\r' && one[0] != '\n' {
			if len(typed) < 256 {
				typed = append(typed, one[0])
				_, _ = channel.Write(one)
			}
			continue
		}
		command := string(typed)
		typed = typed[:0]
		_, _ = io.WriteString(channel, "\r\n")
		if command == "exit" || !b.runCommand(channel, line, command) {
			return
		}
		_, _ = io.WriteString(channel, "\r\n"+line.prompt)
	}
}

// runCommand reports whether the client is still there afterwards.
func (b *bmc) runCommand(channel ssh.Channel, line commandLine, command string) bool {
	if command != line.command {
		_, err := fmt.Fprintf(channel, "Unknown command: %.64q\r\n", command)
		return err == nil
	}
	if !b.hasConsole() {
		_, err := io.WriteString(channel, "Serial over LAN is not enabled.\r\n")
		return err == nil
	}
	return b.machines[0].attach(channel, line.leave)
}

// hasConsole reports whether the BMC has the serial console of its machine. Of a computer it has it only if the computer gives it.
func (b *bmc) hasConsole() bool {
	if _, off := b.struck(fault.NoConsole, ""); off {
		return false
	}
	computer := b.machines[0].computer
	_, given := computer.(Terminal)
	return computer == nil || given
}

// serialConsole is what Redfish says about it (ComputerSystem.SerialConsole).
func (b *bmc) serialConsole() object {
	line := commandLines[b.quirks.vendor]
	o := object{"ServiceEnabled": b.sshPort != 0 && b.hasConsole(), "SharedWithManagerCLI": line.command != ""}
	if b.sshPort != 0 {
		o["Port"] = int(b.sshPort)
	}
	if line.said {
		o["ConsoleEntryCommand"] = line.command
	}
	return object{"MaxConcurrentSessions": 1, "SSH": o}
}

// SSHPort is the port of the SSH server of BMC i; 0: it has none.
func (r *Rack) SSHPort(i int) int { return int(r.bmcs[i].sshPort) }
