package demo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/cli/demo/scenario"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/cli/screen"
)

// Run runs the demo. It returns an error that names the step which did not happen.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	if err := o.Check(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.limit(), fmt.Errorf("--timeout %s is over", o.limit()))
	defer cancel()
	running, fail := context.WithCancelCause(limited)
	defer fail(nil)

	l := &lab{options: o, stderr: stderr, fail: fail}
	run := scenario.New(scenario.Options{Start: l.start, Servers: o.Servers, Claims: o.Claims, Grace: o.grace, Patience: o.patience(), Clock: clock.RealClock{}})
	stopShowing := present(run, o, stdout, stderr)
	err := run.Run(running)
	stopShowing()

	result := run.Result(err)
	var wrote error
	switch {
	case o.Output == OutputJSON:
		wrote = result.WriteJSON(stdout)
	case o.Verbosity > 0 || !result.OK && !result.Interrupted:
		wrote = result.WriteTimelines(stdout, screen.PaintFor(stdout))
	}
	if o.Output == OutputText {
		wrote = errors.Join(wrote, result.WriteSummary(stdout, screen.PaintFor(stdout)))
	}
	stopped := l.stop()
	if err != nil {
		return errors.Join(errors.New(result.Failure()), stopped)
	}
	return errors.Join(wrote, stopped)
}

// present shows the run until what it returns is called. A result in JSON has standard output for itself; a picture
// beside it goes to a terminal or nowhere.
func present(run *scenario.Scenario, o Options, stdout, stderr io.Writer) (stop func()) {
	out := stdout
	if o.Output == OutputJSON {
		out = stderr
	}
	size := screen.Terminal(out)
	if size == nil && o.Output == OutputJSON {
		return func() {}
	}
	if o.Verbosity > 0 { // a picture would be torn by the log
		size = nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	live := &screen.Live{Out: out, Source: show.Moving{Story: run, Start: run.Start()}, Clock: clock.RealClock{}, Size: size, Paint: screen.PaintFor(out)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		live.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
