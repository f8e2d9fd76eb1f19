package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	every = 2 * time.Second
	// quiet is a poll interval that is longer than a run: requests are those of rotations and of processes that begin.
	quiet    = 24 * time.Hour
	fastPoll = time.Second
)

// findings are what is printed and kept.
type findings struct {
	Onboarding time.Duration `json:"onboardingNanoseconds"`
	// Took is from the first order to the last rotation that ended.
	Took time.Duration `json:"tookNanoseconds"`
	// UnderWay is how many rotations had begun and not ended at each kill.
	UnderWay []int `json:"underWayAtKills"`
	Rotated  int   `json:"rotated"`
	Failed   int   `json:"failed"`
	// Resting BMCs are left alone: too many processes have ended while they asked them.
	Resting int `json:"leftAlone"`
	Locked  int `json:"locked"`
	// Unknown BMCs have a password that is not stored.
	Unknown   int `json:"withoutKnownPassword"`
	Wrong     int `json:"wrongPasswords"`
	MostWrong int `json:"wrongPasswordsOneBMCMost"`
}

func measure(ctx context.Context, c config) (found findings, err error) {
	running := ctx
	s, err := site.Start(ctx, site.Config{
		Binaries: c.binaries, BMCs: c.Servers, Timing: c.Timing, LockAfter: c.LockAfter, PollInterval: quiet, FastPoll: fastPoll,
	})
	if err != nil {
		return found, err
	}
	defer func() {
		if stopped := s.Stop(); stopped != nil {
			fmt.Fprintln(os.Stderr, "after the run:", stopped)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	began := time.Now()
	if err := s.CreateEndpoints(ctx); err != nil {
		return found, err
	}
	if err := s.Await(ctx, c.Servers, every, s.API.Available); err != nil {
		return found, fmt.Errorf("available: %w", err)
	}
	found.Onboarding = time.Since(began)
	b := &bench{Site: s, config: c, found: &found, began: time.Now()}
	if err := b.order(ctx); err != nil {
		return found, err
	}
	if err := b.kill(running, ctx); err != nil {
		return found, err
	}
	if err := b.await(ctx); err != nil {
		return found, err
	}
	return found, b.verify(ctx)
}

type bench struct {
	*site.Site
	config config
	found  *findings
	began  time.Time
}

// order asks for a rotation of every BMC.
func (b *bench) order(ctx context.Context) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, metalv1.AnnotationOperation, metalv1.OperationRotateCredentials))
	return site.Each(ctx, b.config.Servers, func(ctx context.Context, i int) error {
		obj := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: b.Rack.BMCs[i].Name}}
		if err := b.API.Patch(ctx, obj, patch); err != nil {
			return fmt.Errorf("order a rotation of BMC %s: %w", obj.Name, err)
		}
		return nil
	})
}

// kill kills the manager at random moments.
func (b *bench) kill(running, ctx context.Context) error {
	chance := rand.New(rand.NewPCG(b.config.Seed, 0))
	for range b.config.Kills {
		life := time.Duration(chance.Int64N(int64(b.config.Life)))
		select {
		case <-time.After(life):
		case <-b.Manager.Process.Exited():
			return b.Manager.Process.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := b.KillManager(running); err != nil {
			return err
		}
		t, err := b.count(ctx)
		if err != nil {
			return err
		}
		b.found.UnderWay = append(b.found.UnderWay, t.underWay)
		fmt.Fprintf(os.Stderr, "kill %d after a life of %s: %d rotated, %d under way\n", len(b.found.UnderWay), life.Round(time.Millisecond), t.rotated, t.underWay)
	}
	return nil
}

// tally is how many rotations are where.
type tally struct{ rotated, failed, underWay, asked int }

func (b *bench) count(ctx context.Context) (t tally, err error) {
	var list metalv1.BMCList
	if err := b.API.List(ctx, &list); err != nil {
		return t, fmt.Errorf("list BMCs: %w", err)
	}
	for i := range list.Items {
		obj := &list.Items[i]
		_, asked := metalv1.OperationOf(obj)
		_, begun := obj.Annotations[metalv1.AnnotationOperationStarted]
		c := apimeta.FindStatusCondition(obj.Status.Conditions, metalv1.ConditionRotated)
		switch {
		case asked:
			t.asked++
		case begun && (c == nil || c.Status != metav1.ConditionFalse):
			t.underWay++
		case c != nil && c.Status == metav1.ConditionTrue:
			t.rotated++
		default:
			t.failed++
			b.tell(obj, c)
		}
	}
	return t, nil
}

// tell says why a rotation has failed.
func (b *bench) tell(obj *metalv1.BMC, c *metav1.Condition) {
	if c != nil {
		fmt.Fprintf(os.Stderr, "BMC %s: %s: %s (tried %q)\n", obj.Name, c.Reason, c.Message, obj.Annotations[metalv1.AnnotationRotationTried])
	}
}

// await waits until all rotations have ended, or none has for a while.
func (b *bench) await(ctx context.Context) error {
	last, before := time.Now(), -1
	for {
		t, err := b.count(ctx)
		if err != nil {
			return err
		}
		if t.rotated+t.failed != before {
			last, before = time.Now(), t.rotated+t.failed
			b.found.Took = last.Sub(b.began)
			fmt.Fprintf(os.Stderr, "%d rotated, %d under way after %s\n", t.rotated, t.underWay, b.found.Took.Round(time.Second))
		}
		b.found.Rotated, b.found.Failed, b.found.Resting = t.rotated, t.failed, t.underWay+t.asked
		if t.underWay+t.asked == 0 || time.Since(last) >= b.config.Patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.Manager.Process.Exited():
			return b.Manager.Process.Err()
		case <-time.After(every):
		}
	}
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t|\n", cells...) }
	line("what", "found", "promise")
	line("---", "---", "---")
	least, most := 0, 0
	for i, n := range f.UnderWay {
		if most = max(most, n); i == 0 || n < least {
			least = n
		}
	}
	line("the manager was killed", fmt.Sprintf("%d times, with %d to %d rotations under way", len(f.UnderWay), least, most), "")
	line("accounts locked", f.Locked, 0)
	line("BMCs whose password is not stored", f.Unknown, 0)
	line("rotations failed", f.Failed, 0)
	line("rotated", fmt.Sprintf("%d of %d", f.Rotated, c.Servers), "")
	line("left alone for an hour", f.Resting, "")
	line("wrong passwords, all BMCs", f.Wrong, "")
	line("wrong passwords, one BMC, most", f.MostWrong, "")
	line("took", f.Took.Round(100*time.Millisecond), "")
	_ = t.Flush()
}
