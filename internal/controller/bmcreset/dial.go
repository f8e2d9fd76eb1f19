package bmcreset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
)

// maxOutput bounds what is read of a command's output.
const maxOutput = 64 << 10

// Request asks for one reset. Nothing is done twice under one ID.
type Request struct {
	// Name is that of the BMC object, which is woken; ID makes the request one of a kind.
	Name, ID    string
	Make        Make
	Host        string
	Port        int // 22 where zero
	Credentials bmc.Credentials
	// HostKey is the key that the BMC must have: its fingerprint (SHA256:…), or as in authorized_keys. Empty: none is good.
	HostKey string
}

// Result is what came of a Request.
type Result struct {
	End time.Time
	Err error
}

// reset connects, types and hangs up.
func reset(ctx context.Context, r Request) error {
	target := bmcssh.Target{Host: r.Host, Port: r.Port, Credentials: r.Credentials, HostKey: r.HostKey}
	address := target.Address()
	client, err := bmcssh.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, command := range r.Make.commands() {
		err = run(client, command)
		if ctx.Err() != nil {
			return fmt.Errorf("SSH at %s: %s did not end in time: %w", address, command, ctx.Err())
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("SSH at %s: %w", address, err)
}

// run types one command. A connection that breaks is what a restart looks like from here.
func run(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	defer session.Close()
	stdout, err := session.StdoutPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	stdin, err := session.StdinPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if session.Start(command) != nil {
		_ = session.Close() // some have one at a time
		return typeIn(client, command)
	}
	_ = stdin.Close()
	return ended(session, stdout, command)
}

// typeIn types a command into a shell: some BMCs know no exec requests.
func typeIn(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	defer session.Close()
	session.Stdin = strings.NewReader(command + "\nexit\n")
	stdout, err := session.StdoutPipe()
	if err == nil {
		err = session.Shell()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return ended(session, stdout, command)
}

func ended(session *ssh.Session, stdout io.Reader, command string) error {
	output, _ := io.ReadAll(io.LimitReader(stdout, maxOutput))
	if line := refused(string(output)); line != "" {
		return fmt.Errorf("%s: refused: %.200q", command, line)
	}
	var status *ssh.ExitError
	if errors.As(session.Wait(), &status) {
		return fmt.Errorf("%s: exit status %d: %.200q", command, status.ExitStatus(), strings.TrimSpace(string(output)))
	}
	return nil
}
