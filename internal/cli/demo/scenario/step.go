package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/demo/show"
)

const (
	// DefaultGrace is how long something may look broken before it counts: a BMC that starts refuses a
	// first connection, and an image may be pushed a moment late.
	DefaultGrace = 15 * time.Second
	// pace is how often a step looks at the world, which is in memory.
	pace = 50 * time.Millisecond
	// named is how many of the things that are missing an error names.
	named = 3
)

// step is a part of the scenario.
type step struct {
	name string
	// means tells a person what happens in it.
	means string
	// budget is how long it may take.
	budget time.Duration
	// do begins it; nil: there is nothing to do but to wait.
	do func(context.Context) error
	// check says how far it is; nil: it is done when do is.
	check func(*State) verdict
	// then is called with the state that check was content with.
	then func(*State)
}

// verdict says how many of the things that a step is about have done it, and what the others
// lack.
type verdict struct {
	have, want int
	waiting    []string
	broken     []string
}

// finding is what is found out about one thing. The zero value is: nothing to say, and not done.
type finding struct {
	done bool
	// waiting is what it waits for. broken is what will not pass by waiting, as far as can be told.
	waiting, broken string
}

var done = finding{done: true}

func waiting(format string, args ...any) finding {
	return finding{waiting: fmt.Sprintf(format, args...)}
}
func broken(format string, args ...any) finding { return finding{broken: fmt.Sprintf(format, args...)} }

// of says what the finding is about.
func (f finding) of(subject string) finding {
	if f.broken != "" {
		f.broken = subject + ": " + f.broken
	}
	if f.waiting != "" {
		f.waiting = subject + ": " + f.waiting
	}
	return f
}

// judge looks at each of several things.
func judge[T any](things []T, look func(T) finding) verdict {
	v := verdict{want: len(things)}
	for _, t := range things {
		switch f := look(t); {
		case f.done:
			v.have++
		case f.broken != "":
			v.broken = append(v.broken, f.broken)
		default:
			v.waiting = append(v.waiting, f.waiting)
		}
	}
	return v
}

func (v verdict) done() bool { return v.have == v.want }

// why is what is missing, in words.
func (v verdict) why() string {
	return enumerate(append(append([]string(nil), v.broken...), v.waiting...))
}

// enumerate names a few and counts the others.
func enumerate(all []string) string {
	if len(all) > named {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:named], "; "), len(all)-named)
	}
	return strings.Join(all, "; ")
}

// errInterrupted is why a step did not happen that a person ended.
var errInterrupted = errors.New("interrupted")

// Failure is a step that did not happen.
type Failure struct {
	Step string
	Why  error
}

func (f *Failure) Error() string { return fmt.Sprintf("step %q: %v", f.Step, f.Why) }
func (f *Failure) Unwrap() error { return f.Why }

// run takes a step.
func (s *Scenario) run(ctx context.Context, st *step) error {
	began := s.clock.Now()
	s.begin(st)
	err := s.take(ctx, st)
	s.end(st, began, err)
	if err != nil {
		return &Failure{Step: st.name, Why: err}
	}
	s.world.Step(st.name)
	return nil
}

func (s *Scenario) take(ctx context.Context, st *step) error {
	if st.do != nil {
		bounded, cancel := context.WithTimeout(ctx, st.budget)
		err := st.do(bounded)
		cancel()
		if err != nil {
			return interrupted(ctx, err)
		}
	}
	if st.check == nil {
		return nil
	}
	return s.await(ctx, st)
}

// await waits until a step's check is content, or hopeless.
func (s *Scenario) await(ctx context.Context, st *step) error {
	deadline := s.clock.NewTimer(st.budget)
	defer deadline.Stop()
	look := s.clock.NewTicker(pace)
	defer look.Stop()
	var since time.Time // broken without a break
	for {
		var v verdict
		s.world.Look(func(state *State) {
			if v = st.check(state); v.done() && st.then != nil {
				st.then(state)
			}
		})
		s.progress(v)
		now := s.clock.Now()
		switch {
		case v.done():
			return nil
		case len(v.broken) == 0:
			since = time.Time{}
		case since.IsZero():
			since = now
		case now.Sub(since) >= s.options.Grace:
			return errors.New(enumerate(v.broken))
		}
		select {
		case <-look.C():
		case <-deadline.C():
			return fmt.Errorf("not within %s: %s", st.budget, v.why())
		case <-ctx.Done():
			return interrupted(ctx, errors.New(v.why()))
		}
	}
}

// interrupted says what ended a step from outside beside what it was at; err alone, if nothing did.
func interrupted(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %w", errInterrupted, err)
	case errors.Is(err, cause):
		return cause
	default:
		return fmt.Errorf("%w: %w", cause, err)
	}
}

// begin, progress and end keep what the picture and the result say of steps.
func (s *Scenario) begin(st *step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.have, s.want = st, 0, 0
	s.number++
}

func (s *Scenario) progress(v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have, s.want = v.have, v.want
}

func (s *Scenario) end(st *step, began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	took := show.Step{Name: st.name, OK: err == nil, Begin: show.MomentAt(s.start, began), Took: show.Seconds(now.Sub(began))}
	s.ended = now
	if err != nil {
		took.Why = err.Error()
		if s.failed = "failed: " + err.Error(); errors.Is(err, errInterrupted) {
			s.failed = errInterrupted.Error()
		}
	}
	s.steps = append(s.steps, took)
}
