package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
)

const (
	// openTimeout is for all until the console is there. BMCs take seconds to make keys.
	openTimeout = 45 * time.Second
	// writeTimeout is how long a BMC may take none of what is typed.
	writeTimeout = 15 * time.Second
	// aliveEvery is how often a BMC is asked whether it still is there, aliveTimeout how long it may take to answer.
	aliveEvery   = 30 * time.Second
	aliveTimeout = 30 * time.Second
	// leaveTimeout is for leaving the console of a BMC that may not listen any more.
	leaveTimeout = 2 * time.Second
	// short is what a BMC prints in place of a console.
	short = 2 << 10
	// minPrompt is the length from which a line is known to be the prompt of the BMC.
	minPrompt = 3
)

var (
	errHangs = errors.New("the BMC accepts the connection and does not answer")
	errEnded = errors.New("the BMC ended the console")
)

// Target is a console behind the SSH server of a BMC.
type Target struct {
	// BMC is its name, for messages.
	BMC string
	SSH bmcssh.Target
	Wish
	// Timeout replaces openTimeout, where it is not zero.
	Timeout time.Duration
}

// OpenSSH opens a console. What it opens ends with ctx.
func OpenSSH(ctx context.Context, t Target) (Stream, error) {
	stream, err := openSSH(ctx, t)
	if err == nil {
		return stream, nil
	}
	key, unaccepted := errors.AsType[*bmcssh.HostKeyError](err)
	switch {
	case unaccepted && key.Changed:
		return nil, refuse(ReasonHostKey, "BMC %s: %w; no password was sent. If the new key is the BMC's: kubectl annotate --overwrite bmc %s farrier.dev/ssh-host-key=%s", t.BMC, err, t.BMC, key.Fingerprint)
	case unaccepted:
		return nil, refuse(ReasonHostKey, "BMC %s: %w; no password was sent. Compare the key with the one that the BMC shows, then: kubectl annotate bmc %s farrier.dev/ssh-host-key=%s", t.BMC, err, t.BMC, key.Fingerprint)
	case errors.Is(err, bmcssh.ErrRefused):
		return nil, refuse(ReasonPasswordRefused, "BMC %s: %w", t.BMC, err)
	}
	return nil, fmt.Errorf("BMC %s: %w", t.BMC, err)
}

func openSSH(ctx context.Context, t Target) (_ Stream, err error) {
	entry, port, err := t.plan()
	if err != nil {
		return nil, err
	}
	if port != 0 {
		t.SSH.Port = port
	}
	if t.Timeout == 0 {
		t.Timeout = openTimeout
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(t.Timeout, func() { cancel(errHangs) })
	defer func() {
		if late.Stop(); err != nil {
			if errors.Is(context.Cause(ctx), errHangs) {
				err = fmt.Errorf("SSH at %s: %w within %s", t.SSH.Address(), errHangs, t.Timeout)
			}
			cancel(nil)
		}
	}()
	client, err := bmcssh.Dial(ctx, t.SSH)
	if err != nil {
		return nil, err
	}
	s := &sshStream{client: client, cancel: func() { cancel(nil) }, filter: filter{leave: entry.leave}, at: t.SSH.Address()}
	if err := s.enter(entry); err != nil {
		_ = client.Close()
		return nil, err
	}
	go s.watch(ctx)
	return s, nil
}

// sshStream is a console over SSH.
type sshStream struct {
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	cancel  func()
	at      string
	prompt  string // of the BMC's command line, where the console was entered from there

	filter filter

	once sync.Once
	// Of the reader alone:
	printed int
	head    []byte // the first bytes
	line    []byte // the last line, as far as a prompt can be long
}

// enter leads to the console: by a command as its own program where the BMC can do that, since then no key leads to the command line, or else typed there.
func (s *sshStream) enter(e entry) error {
	if err := s.newSession(); err != nil {
		return err
	}
	if e.command != "" {
		if s.session.Start(e.command) == nil {
			return nil
		}
		_ = s.session.Close() // some have one at a time
		if err := s.newSession(); err != nil {
			return err
		}
	}
	if err := s.session.Shell(); err != nil {
		return refuse(ReasonNoConsole, "SSH at %s: the BMC gives neither a console nor a command line: %w", s.at, err)
	}
	if e.command == "" {
		return nil
	}
	if err := s.awaitPrompt(); err != nil {
		return err
	}
	_, err := io.WriteString(s.in, e.command+"\r")
	return err
}

func (s *sshStream) newSession() (err error) {
	if s.session, err = s.client.NewSession(); err != nil {
		return fmt.Errorf("SSH at %s: %w", s.at, err)
	}
	_ = s.session.RequestPty("vt220", 24, 80, ssh.TerminalModes{ssh.ECHO: 1}) // what cannot give one has a console without
	if s.in, err = s.session.StdinPipe(); err != nil {
		return err
	}
	s.out, err = s.session.StdoutPipe()
	return err
}

// awaitPrompt reads until the command line asks for a command.
func (s *sshStream) awaitPrompt() error {
	var seen []byte
	buffer := make([]byte, 1<<10)
	for len(seen) < 64<<10 {
		n, err := s.out.Read(buffer)
		seen = append(seen, buffer[:n]...)
		last := strings.TrimSpace(Plain(string(seen[bytes.LastIndexByte(seen, '\n')+1:])))
		if last != "" && strings.ContainsAny(last[len(last)-1:], ">#$%") {
			s.prompt = last
			return nil
		}
		if err != nil {
			return fmt.Errorf("SSH at %s: the command line ended before its prompt: %w", s.at, err)
		}
	}
	return refuse(ReasonNoConsole, "SSH at %s: the BMC's command line shows no prompt", s.at)
}

// Read implements io.Reader. An error says how the console ended.
func (s *sshStream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	s.printed += n
	s.head = append(s.head, p[:min(n, max(0, short-len(s.head)))]...)
	if s.atPrompt(p[:n]) {
		return n, s.gone(s.prompt)
	}
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if _, broke := errors.AsType[*ssh.ExitMissingError](s.session.Wait()); broke {
		return n, fmt.Errorf("SSH at %s: the connection broke", s.at)
	}
	return n, s.gone("")
}

// atPrompt reports whether the BMC shows its command line again. Nobody is to type there.
func (s *sshStream) atPrompt(p []byte) bool {
	if len(s.prompt) < minPrompt {
		return false
	}
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		s.line, p = s.line[:0], p[i+1:]
	}
	s.line = append(s.line, p[:min(len(p), max(0, short-len(s.line)))]...)
	return strings.TrimSpace(Plain(string(s.line))) == s.prompt
}

// gone is the error of a console that the BMC ended. One that has said little but that never was one.
func (s *sshStream) gone(prompt string) error {
	if s.printed >= short {
		return fmt.Errorf("SSH at %s: %w", s.at, errEnded)
	}
	said := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(Plain(string(s.head))), prompt))
	return refuse(ReasonNoConsole, "SSH at %s: %w: %.300q", s.at, errEnded, said)
}

// Write implements io.Writer.
func (s *sshStream) Write(p []byte) (int, error) {
	late := time.AfterFunc(writeTimeout, func() { _ = s.client.Close() })
	defer late.Stop()
	_, err := s.in.Write(s.filter.pass(p))
	if err != nil {
		return 0, fmt.Errorf("SSH at %s: %w", s.at, err)
	}
	return len(p), nil
}

// Resize implements Stream.
func (s *sshStream) Resize(columns, rows int) error {
	late := time.AfterFunc(writeTimeout, func() { _ = s.client.Close() })
	defer late.Stop()
	return s.session.WindowChange(rows, columns)
}

// Close leaves the console, so that the BMC does not keep it for somebody who is gone.
func (s *sshStream) Close() error {
	s.once.Do(func() {
		late := time.AfterFunc(leaveTimeout, func() { _ = s.client.Close() })
		defer late.Stop()
		if s.filter.leave != "" {
			_, _ = io.WriteString(s.in, s.filter.leave) // it may be gone already
		}
		_ = s.session.Close()
		_ = s.client.Close()
		s.cancel()
	})
	return nil
}

// watch closes a connection whose BMC does not answer any more.
func (s *sshStream) watch(ctx context.Context) {
	ticker := time.NewTicker(aliveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		late := time.AfterFunc(aliveTimeout, func() { _ = s.client.Close() })
		_, _, err := s.client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			_ = s.client.Close()
			return
		}
	}
}
