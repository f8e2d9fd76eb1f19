package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Every is how often an Order looks whether it has come about.
const Every = time.Second

// Order is a change that somebody asks for.
type Order struct {
	// Kubectl are the commands that do the same.
	Kubectl []string
	// Write changes the objects.
	Write func(context.Context) error
	// Look reports whether it has come about, and what it waits for otherwise. An error ends the waiting. Without Look nothing is waited for.
	Look func(context.Context) (done bool, doing string, err error)
	// Undo takes back what Write did, if it did not come about; nil: it stands.
	Undo func(context.Context) error
	// Done says what has come about.
	Done func() string
}

// Runner carries out Orders.
type Runner struct {
	// Out gets what has come about, or the commands of kubectl, and Progress what is waited for.
	Out, Progress io.Writer
	// Explain prints the commands of kubectl and changes nothing.
	Explain bool
	// NoWait ends after the last change.
	NoWait  bool
	Timeout time.Duration
	Clock   clock.Clock
}

// Late says that an Order has not come about in time. What it wrote stands.
type Late struct {
	After time.Duration
	Doing string
}

func (l *Late) Error() string {
	return fmt.Sprintf("--timeout: not done within %s: %s. What was asked for stands, and goes on", l.After, l.Doing)
}

// ExitCode tells a shell that it was too early.
func (*Late) ExitAs() int { return 3 }

// errInterrupted says that the user did not wait.
var errInterrupted = errors.New("interrupted: what was asked for stands, and goes on")

// Run carries out Orders, one after the other.
func (r *Runner) Run(ctx context.Context, orders ...Order) error {
	if r.Explain {
		for _, o := range orders {
			if _, err := io.WriteString(r.Out, strings.Join(o.Kubectl, "\n")+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	deadline := r.Clock.Now().Add(r.Timeout)
	for i, o := range orders {
		if err := o.Write(ctx); err != nil {
			return err
		}
		last := i == len(orders)-1
		if o.Look == nil || last && r.NoWait {
			continue
		}
		if err := r.wait(ctx, o, deadline); err != nil {
			return err
		}
	}
	if done := orders[len(orders)-1].Done; done != nil && !r.NoWait {
		_, err := fmt.Fprintln(r.Out, done())
		return err
	}
	return nil
}

// wait looks until the order has come about.
func (r *Runner) wait(ctx context.Context, o Order, deadline time.Time) error {
	said := ""
	for {
		done, doing, err := o.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return r.undone(ctx, o, errInterrupted)
		case err != nil:
			return r.undone(ctx, o, err)
		case done:
			return nil
		case !r.Clock.Now().Before(deadline):
			return r.undone(ctx, o, &Late{r.Timeout, doing})
		}
		if doing != said {
			said = doing
			_, _ = fmt.Fprintln(r.Progress, doing) // what cannot be shown is not worth ending for
		}
		select {
		case <-ctx.Done():
			return r.undone(ctx, o, errInterrupted)
		case <-r.Clock.After(Every):
		}
	}
}

// undone takes back an order that has not come about.
func (r *Runner) undone(ctx context.Context, o Order, why error) error {
	if o.Undo == nil {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(why, o.Undo(ctx))
}
