package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gorilla/websocket"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cli/attach"
	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

// consoler holds the flags of `farrier console`.
type consoler struct {
	teller
	readOnly, take bool
	timeout        time.Duration
}

func newConsole() *cobra.Command {
	var c consoler
	cmd := &cobra.Command{
		Use: "console SERVER", Short: "Use the serial console of a server", Args: one("server"),
		Long: `Connects the terminal with the serial console of a server, over the SSH server of its BMC (docs/console.md). Several people can watch one console;
one of them writes. Keys after Enter: ~. leaves, ~w writes in place of whoever does, ~~ types ~, ~? helps.

The command needs create on servers/console, with --read-only get. Where the output is no terminal it is printed without what controls terminals.`,
		Example: `  farrier console rack1-node7
  farrier console rack1-node7 --read-only | tee boot.log`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.readOnly, "read-only", false, "watch, and type nothing")
	f.BoolVar(&c.take, "take", false, "write in place of whoever does")
	f.DurationVar(&c.timeout, "timeout", 2*time.Minute, "how long to wait for the console; exit code 3 afterwards")
	c.bindAddress(f)
	completeNames(cmd, func() *cluster { return &c.kubernetes }, "Server")
	return cmd
}

func (c *consoler) run(cmd *cobra.Command, name string) error {
	switch {
	case c.timeout <= 0:
		return usage.Errorf("--timeout: %s is not greater than zero", c.timeout)
	case c.readOnly && c.take:
		return usage.Errorf("--read-only, --take: who only reads takes nothing over")
	}
	ctx := cmd.Context()
	api, asked, at, err := c.connect(ctx)
	if err != nil {
		return err
	}
	t := &attach.Terminal{
		Server: name, ReadOnly: c.readOnly, Out: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr(), Timeout: c.timeout, Clock: clock.RealClock{},
		Dial: func(ctx context.Context) (*websocket.Conn, error) {
			conn, err := asked.Console(ctx, name, c.readOnly, c.take)
			if errors.Is(err, operator.ErrForbidden) {
				return nil, forbiddenConsole(at.URL, c.readOnly, err)
			}
			return conn, explainOperator(at.URL, operator.PathConsole+name, err)
		},
		Final: func(err error) bool {
			return errors.Is(err, operator.ErrForbidden) || errors.Is(err, operator.ErrUnauthorized) || errors.Is(err, operator.ErrNoConsole)
		},
	}
	restore, err := c.raw(cmd, t)
	if err != nil {
		return err
	}
	defer restore()
	err = t.Run(ctx)
	if ended, ok := errors.AsType[*attach.Ended](err); ok && ended.Reason == console.ReasonNotFound {
		return verb.NoServer(ctx, api, name)
	}
	return err
}

func forbiddenConsole(at string, readOnly bool, err error) error {
	needed := "create"
	if readOnly {
		needed = "get"
	}
	return fmt.Errorf("--kubeconfig: its user may not use this console at %s: it needs %q on servers/console of metal.ironcore.dev (%w)", at, needed, err)
}

// raw has the terminal send every key and print every byte, where there is one. restore has it be as before, also in a panic.
func (c *consoler) raw(cmd *cobra.Command, t *attach.Terminal) (restore func(), err error) {
	restore = func() {}
	if out, ok := t.Out.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
		t.Raw = true
		t.Size = func() (int, int, error) { return term.GetSize(int(out.Fd())) }
		resized, stop := resizes()
		t.Resized, restore = resized, stop
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	switch {
	case !isFile:
		if !c.readOnly {
			t.In = cmd.InOrStdin()
		}
	case term.IsTerminal(int(in.Fd())) && t.Raw:
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			restore()
			return nil, err
		}
		t.In = in // also who only reads types ~.
		stop := restore
		restore = func() {
			stop()
			_ = term.Restore(int(in.Fd()), state)
		}
	case !c.readOnly:
		t.In = in
	}
	return restore, nil
}
