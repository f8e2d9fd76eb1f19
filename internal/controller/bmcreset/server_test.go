package bmcreset

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// server is the SSH server of a BMC, as far as it goes.
type server struct {
	// does answers a command: what it prints, its exit status, or that the connection breaks.
	does func(command string) (output string, status uint32, breaks bool)
	// shellOnly refuses exec requests, asks says that the password is asked for by keyboard-interactive,
	// silent never answers a command.
	shellOnly, asks, silent bool

	port     int
	signer   ssh.Signer
	mu       sync.Mutex
	commands []string
	logins   int
}

func (s *server) typed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

func (s *server) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

func (s *server) key() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.signer.PublicKey())))
}

func (s *server) start(t *testing.T) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if s.signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	config := s.config()
	config.AddHostKey(s.signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn, config) })
		}
	})
}

func (s *server) config() *ssh.ServerConfig {
	check := func(user, password string) (*ssh.Permissions, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logins++
		if user != "admin" || password != "marker" {
			return nil, errors.New("no")
		}
		return nil, nil
	}
	if s.asks {
		return &ssh.ServerConfig{KeyboardInteractiveCallback: func(c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil {
				return nil, err
			}
			return check(c.User(), answers[0])
		}}
	}
	return &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) { return check(c.User(), string(p)) }}
}

func (s *server) serve(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			switch {
			case r.Type == "exec" && !s.shellOnly:
				_ = r.Reply(true, nil)
				var payload struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &payload)
				s.run(conn, channel, payload.Command)
			case r.Type == "shell":
				_ = r.Reply(true, nil)
				_, _ = io.WriteString(channel, "system> ")
				lines := bufio.NewScanner(channel)
				for lines.Scan() && lines.Text() != "exit" {
					s.run(conn, channel, lines.Text())
				}
				_ = channel.Close()
			default:
				_ = r.Reply(false, nil)
			}
		}
	}
}

func (s *server) run(conn net.Conn, channel ssh.Channel, command string) {
	s.mu.Lock()
	s.commands = append(s.commands, command)
	s.mu.Unlock()
	if s.silent {
		return
	}
	output, status, breaks := s.does(command)
	_, _ = io.WriteString(channel, output)
	if breaks {
		_ = conn.Close()
		return
	}
	if !s.shellOnly {
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		_ = channel.Close()
	}
}
