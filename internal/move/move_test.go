package move_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/move"
)

func (w *world) optionsOf(source, target move.Side) move.Options {
	return move.Options{
		Source: source, Target: target, Namespace: managers,
		Pause: func(context.Context) error { return nil },
		Now:   func() time.Time { return began.Add(time.Hour) },
		Say:   func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
	}
}

// expected is what a move makes of the estate: everything that was there, with the attempt as the target reads it.
func expected(before map[string]map[string]any) map[string]map[string]any {
	for name := range before {
		if strings.HasSuffix(name, "/farrier-keys") || strings.HasSuffix(name, "/unrelated") {
			delete(before, name)
		}
	}
	metadata := before["ServerBootConfiguration team/web"]["metadata"].(map[string]any)
	a := bootattempt.Attempt{ID: "a1", Number: 1, Ordered: &began, Started: &began, Generation: 1}
	metadata["annotations"].(map[string]any)[metalv1.AnnotationBootAttempt] = a.String()
	return before
}

// left is what a move does not take: what it does not need, and what people made.
var left = []string{"Secret farrier-system/farrier-keys", "Secret team/pull", "Secret team/unrelated", "Secret team/web", "Secret vault/login", "ConfigMap team/content"}

func (w *world) checkMoved(want map[string]map[string]any) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.target.everything(w.t)); diff != "" {
		w.t.Errorf("the target differs from what was at the source (-want +got):\n%s", diff)
	}
	remaining := w.source.everything(w.t)
	for _, name := range left {
		if remaining[name] == nil {
			w.t.Errorf("%s is gone from the source", name)
		}
		delete(remaining, name)
	}
	for name := range remaining {
		w.t.Errorf("%s is still at the source", name)
	}
	if !w.source.paused(w.t) || w.target.paused(w.t) {
		w.t.Errorf("source paused: %t, target paused: %t", w.source.paused(w.t), w.target.paused(w.t))
	}
	var kept corev1.Namespace
	if err := w.target.store.Get(w.t.Context(), client.ObjectKey{Name: "vault"}, &kept); err != nil || kept.Labels[metalv1.LabelBMCSecrets] != metalv1.LabelBMCSecretsAllowed {
		w.t.Errorf("namespace vault: %v, labels %v", err, kept.Labels)
	}
}

// watch fails the test if anything but a Lease is written while one of the sides may act.
func (w *world) watch() {
	for name, a := range map[string]*api{"source": w.source, "target": w.target} {
		inner := a.write
		a.write = func(verb string, obj client.Object) (bool, error) {
			if kindOf(obj) != "Lease" && (!w.source.paused(w.t) || !w.target.paused(w.t)) {
				w.t.Errorf("%s: %s %s %s while somebody may act", name, verb, kindOf(obj), obj.GetName())
			}
			return inner(verb, obj)
		}
	}
}

func kindOf(obj client.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", obj), "*v1.")
}

func TestEverythingMoves(t *testing.T) {
	w := newWorld(t)
	w.watch()
	want := expected(w.source.everything(t))
	if err := move.Run(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	w.checkMoved(want)
	// Run again, it has nothing to do, and pauses nobody.
	if err := move.Run(t.Context(), w.options()); err != nil || w.said[len(w.said)-1] != "nothing to move" || w.target.paused(t) {
		t.Errorf("again: %v, said %q", err, w.said)
	}
}

// TestKilledAnywhere: whichever write is the last of a run, the next run goes on, and nothing is lost or made twice. Every second time the write is done, and
// its answer is lost. At no time is anything written while one of the sides may act.
func TestKilledAnywhere(t *testing.T) {
	for first := range 2 {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			n := first
			for !killedAfter(t, n) {
				n += 2
			}
			if n < 50 {
				t.Errorf("the whole move has %d writes", n)
			}
		})
	}
}

// killedAfter ends a move after n writes and runs it again. It reports whether the move was over by then.
func killedAfter(t *testing.T, n int) bool {
	t.Helper()
	killed := errors.New("killed")
	w := newWorld(t)
	want := expected(w.source.everything(t))
	writes := 0
	kill := func(string, client.Object) (bool, error) {
		if writes++; writes > n {
			return n%4 > 1 && writes == n+1, killed
		}
		return false, nil
	}
	w.source.write, w.target.write = kill, kill
	w.watch()
	err := move.Run(t.Context(), w.options())
	if err != nil && !errors.Is(err, killed) {
		t.Fatalf("killed after %d writes: %v", n, err)
	}
	over := err == nil
	if !over {
		kill = func(string, client.Object) (bool, error) { return false, nil }
		w.source.write, w.target.write = kill, kill
		w.watch()
		if err := move.Run(t.Context(), w.options()); err != nil {
			t.Fatalf("run again after %d writes: %v", n, err)
		}
	}
	w.checkMoved(want)
	if t.Failed() {
		t.Fatalf("killed after %d writes", n)
	}
	return over
}
