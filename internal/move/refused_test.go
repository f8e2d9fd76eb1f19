package move_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/move"
)

// refuse runs a move that cannot be, and checks that it says why, and that nothing has changed and both sides may act.
func (w *world) refuse(o move.Options, want ...string) {
	w.t.Helper()
	source, target := w.source.everything(w.t), w.target.everything(w.t)
	err := move.Run(w.t.Context(), o)
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			w.t.Errorf("%v does not say %q", err, part)
		}
	}
	if len(w.source.everything(w.t)) != len(source) || len(w.target.everything(w.t)) != len(target) {
		w.t.Error("a move that was refused has changed something")
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*world, *move.Options)
		want    []string
	}{
		"the same cluster": {func(w *world, o *move.Options) { o.Target = w.source.side("target") }, []string{"same cluster"}},
		"no namespace":     {func(_ *world, o *move.Options) { o.Namespace = "elsewhere" }, []string{"source", "--manager-namespace", "elsewhere"}},
		"no CRDs":          {func(w *world, o *move.Options) { w.target.lists = nil; o.Target = w.target.side("target") }, []string{"target", "servers.metal.ironcore.dev v1alpha1"}},
		"another version": {func(w *world, o *move.Options) {
			for _, list := range w.target.lists {
				list.GroupVersion = strings.Replace(list.GroupVersion, "boot.ironcore.dev/v1alpha1", "boot.ironcore.dev/v1", 1)
			}
			o.Target = w.target.side("target")
		}, []string{"target", "ipxebootconfigs.boot.ironcore.dev v1alpha1"}},
		"no CRDs at the source":         {func(w *world, o *move.Options) { w.source.lists = nil; o.Source = w.source.side("source") }, []string{"source", "no kinds"}},
		"a right missing at the source": {func(w *world, _ *move.Options) { w.source.denied["delete servers"] = true }, []string{"source", "delete servers.metal.ironcore.dev"}},
		"a right missing at the target": {func(w *world, _ *move.Options) { w.target.denied["create secrets"] = true }, []string{"target", "create secrets"}},
		"an installation with a filter": {func(w *world, _ *move.Options) {
			bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{metalv1.LabelWatchFilter: "hall-1"}}}
			(&estate{w.t, w.source.store}).create(bmc)
		}, []string{"source", "BMC theirs", metalv1.LabelWatchFilter}},
		"another object": {func(w *world, _ *move.Options) {
			claim := &metalv1.ServerClaim{ObjectMeta: meta("team", "web")}
			claim.Spec.Image = "registry.example/other:1"
			(&estate{w.t, w.target.store}).create(claim)
		}, []string{"target", "ServerClaim team/web", "differs"}},
		"another Secret": {func(w *world, _ *move.Options) {
			(&estate{w.t, w.target.store}).create(&corev1.Secret{ObjectMeta: meta("team", "web"), Data: map[string][]byte{"ignition": []byte("other")}})
		}, []string{"target", "Secret team/web", ".data.ignition differs"}},
		"a namespace that grants otherwise": {func(w *world, _ *move.Options) {
			(&estate{w.t, w.target.store}).create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vault", Labels: map[string]string{metalv1.LabelBMCSecrets: "no"}}})
		}, []string{"target", "Namespace vault", metalv1.LabelBMCSecrets}},
		"a source that somebody else moves":    {func(w *world, _ *move.Options) { w.pausedFor(w.source, move.AnnotationMovedTo) }, []string{"source", "paused", leadership.Lease}},
		"a target that somebody else moves to": {func(w *world, _ *move.Options) { w.pausedFor(w.target, move.AnnotationMovedFrom) }, []string{"target", "paused", leadership.Lease}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.options()
			c.prepare(w, &o)
			w.refuse(o, c.want...)
			if name := "source"; !strings.Contains(t.Name(), "somebody") && (w.source.paused(t) || w.target.paused(t)) {
				t.Errorf("%s: somebody stays paused", name)
			}
		})
	}
}

// pausedFor pauses an API for a move from or to somewhere else.
func (w *world) pausedFor(a *api, annotation string) {
	for _, name := range []string{leadership.Lease, leadership.BootLease} {
		lease := &coordinationv1.Lease{ObjectMeta: meta(managers, name)}
		lease.Annotations = map[string]string{annotation: "another"}
		lease.Spec.HolderIdentity = ptr.To(leadership.Pause)
		(&estate{w.t, a.store}).create(lease)
	}
}

// TestBusyServersAreNotMoved: a boot that has begun when everybody has stopped ends the move before it has changed anything, and both sides act again.
func TestBusyServersAreNotMoved(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*world)
		now   time.Duration
		want  []string
	}{
		"a cleanup":    {func(w *world) { w.state("server-2", metalv1.ServerStateCleanup) }, time.Hour, []string{"server-2 (Cleanup)"}},
		"a discovery":  {func(w *world) { w.state("server-2", metalv1.ServerStateDiscovery) }, time.Hour, []string{"server-2 (Discovery)"}},
		"a fresh boot": {func(*world) {}, time.Minute, []string{"server-1 (boots for team/web)"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.options()
			o.Pause = func(context.Context) error { c.begin(w); return nil }
			o.Now = func() time.Time { return began.Add(c.now) }
			w.refuse(o, c.want...)
			if w.source.paused(t) || w.target.paused(t) {
				t.Errorf("paused: source %t, target %t", w.source.paused(t), w.target.paused(t))
			}
		})
	}
}

// TestAMoveWaitsForBusyServers before anybody is paused, and again for one that is told to boot while both sides are being paused.
func TestAMoveWaitsForBusyServers(t *testing.T) {
	w := newWorld(t)
	w.state("server-2", metalv1.ServerStateCleanup)
	o := w.options()
	now, looks, pauses := o.Now(), 0, 0
	o.Now = func() time.Time { return now }
	o.Timeout = time.Hour
	o.Sleep = func(_ context.Context, d time.Duration) error {
		if now = now.Add(d); w.source.paused(t) || w.target.paused(t) {
			t.Error("somebody is paused while the move waits")
		}
		if looks++; looks == 3 || looks == 5 {
			w.state("server-2", metalv1.ServerStateAvailable)
		}
		return nil
	}
	o.Pause = func(context.Context) error {
		if pauses++; pauses == 1 {
			w.state("server-2", metalv1.ServerStateDiscovery)
		}
		return nil
	}
	if err := move.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if looks != 5 || pauses != 2 || !w.source.paused(t) || w.target.paused(t) {
		t.Errorf("%d looks, %d pauses; paused: source %t, target %t", looks, pauses, w.source.paused(t), w.target.paused(t))
	}
	for _, want := range []string{"waiting for server-2 (Cleanup)", "waiting for server-2 (Discovery)"} {
		if at := slices.Index(w.said, want); at < 0 || slices.Contains(w.said[at+1:], want) {
			t.Errorf("%q was not said once: %q", want, w.said)
		}
	}
}

// TestAMoveWaitsNoLongerThanItMay: what never ends is refused by name, and nobody has been paused.
func TestAMoveWaitsNoLongerThanItMay(t *testing.T) {
	w := newWorld(t)
	w.state("server-2", metalv1.ServerStateCleanup)
	o := w.options()
	now := o.Now()
	o.Now = func() time.Time { return now }
	o.Timeout = time.Minute
	o.Sleep = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
	o.Pause = func(context.Context) error { t.Error("paused"); return nil }
	w.refuse(o, "server-2 (Cleanup)", "park them")
	if waited := now.Sub(w.options().Now()); waited != time.Minute {
		t.Errorf("waited %s", waited)
	}
}

func (w *world) state(name string, state metalv1.ServerState) {
	var server metalv1.Server
	if err := w.source.store.Get(w.t.Context(), client.ObjectKey{Name: name}, &server); err != nil {
		w.t.Fatal(err)
	}
	server.Status.State = state
	(&estate{w.t, w.source.store}).status(&server)
}

// TestTheSameObjectBecomesTheCopy: what somebody has applied at the target already, as it is at the source, is no conflict.
func TestTheSameObjectBecomesTheCopy(t *testing.T) {
	w := newWorld(t)
	e := &estate{t, w.target.store}
	e.create(&corev1.Namespace{ObjectMeta: meta("", "team")})
	e.profiles()
	e.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Labels: map[string]string{"synced": "yes"}}, Data: map[string][]byte{"ignition": []byte("{}")}})
	want := expected(w.source.everything(t))
	want["Secret team/web"]["metadata"].(map[string]any)["labels"] = map[string]any{"synced": "yes"}
	if err := move.Run(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	w.checkMoved(want)
}

// TestWhatComesLateMovesToo: objects that are written at the source while it is moved are not lost, whether they are new, changed or deleted.
func TestWhatComesLateMovesToo(t *testing.T) {
	w := newWorld(t)
	late := func() {
		e := &estate{t, w.source.store}
		claim := &metalv1.ServerClaim{ObjectMeta: meta("team", "late")}
		claim.Spec.Image = "registry.example/os:2"
		e.create(claim)
		var endpoint metalv1.Endpoint
		if err := w.source.store.Get(t.Context(), client.ObjectKey{Name: "bmc-1"}, &endpoint); err != nil {
			t.Fatal(err)
		}
		endpoint.Spec.IP = "192.0.2.11"
		if err := errors.Join(w.source.store.Update(t.Context(), &endpoint), w.source.store.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: meta("team", "web")})); err != nil {
			t.Fatal(err)
		}
	}
	once := false
	w.source.write = func(verb string, obj client.Object) (bool, error) {
		if kindOf(obj) != "Lease" && !once {
			once = true
			late()
		}
		return false, nil
	}
	if err := move.Run(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	got := w.target.everything(t)
	if got["ServerClaim team/late"] == nil {
		t.Error("the late claim is lost")
	}
	if web := got["ServerClaim team/web"]; web == nil || web["metadata"].(map[string]any)["ending"] != true {
		t.Errorf("the deletion is lost: %v", web)
	}
	if ip := got["Endpoint /bmc-1"]["spec"].(map[string]any)["ip"]; ip != "192.0.2.11" {
		t.Errorf("the change is lost: %v", ip)
	}
}

// TestThereAndBack: the source of a move is the target of the next.
func TestThereAndBack(t *testing.T) {
	w := newWorld(t)
	want := expected(w.source.everything(t))
	if err := move.Run(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	w.source, w.target = w.target, w.source
	if err := move.Run(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	got := w.target.everything(t)
	delete(got, "Secret farrier-system/farrier-keys")
	delete(got, "Secret team/unrelated")
	var lost []string
	for name := range want {
		if got[name] == nil {
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 || len(got) != len(want) || w.target.paused(t) || !w.source.paused(t) {
		t.Errorf("lost %v; %d objects, want %d", lost, len(got), len(want))
	}
}

// TestGivenUp: a move that was killed while it copied is taken back: both sides have what they had, and act.
func TestGivenUp(t *testing.T) {
	killed := errors.New("killed")
	for n := range 40 {
		if n%3 > 0 {
			continue
		}
		w := newWorld(t)
		e := &estate{t, w.target.store}
		e.create(&corev1.Namespace{ObjectMeta: meta("", "team")})
		e.create(&corev1.ConfigMap{ObjectMeta: meta("team", "content"), Data: map[string]string{"a": "b"}})
		e.create(rescue())
		source, target := w.source.everything(t), w.target.everything(t)
		writes := 0
		kill := func(string, client.Object) (bool, error) {
			if writes++; writes > n {
				return false, killed
			}
			return false, nil
		}
		w.source.write, w.target.write = kill, kill
		if err := move.Run(t.Context(), w.options()); !errors.Is(err, killed) {
			t.Fatalf("killed after %d writes: %v", n, err)
		}
		kill = func(string, client.Object) (bool, error) { return false, nil }
		w.source.write, w.target.write = kill, kill
		w.watch()
		err := move.Abort(t.Context(), w.options())
		if errors.Is(err, move.ErrTooLate) && n > 25 {
			return // everything had been copied
		}
		if err != nil {
			t.Fatalf("killed after %d writes: %v", n, err)
		}
		if diff := cmp.Diff(source, w.source.everything(t)); diff != "" {
			t.Errorf("killed after %d writes, the source has changed:\n%s", n, diff)
		}
		after := w.target.everything(t)
		for _, name := range left { // Secrets of people are copied, and may stay
			if target[name] == nil {
				delete(after, name)
			}
		}
		if diff := cmp.Diff(target, after); diff != "" {
			t.Errorf("killed after %d writes, the target has changed:\n%s", n, diff)
		}
		if w.source.paused(t) || w.target.paused(t) {
			t.Errorf("killed after %d writes, paused: source %t, target %t", n, w.source.paused(t), w.target.paused(t))
		}
	}
}

// TestTooLateToGiveUp: after the first deletion a move can only go on.
func TestTooLateToGiveUp(t *testing.T) {
	w := newWorld(t)
	killed := errors.New("killed")
	w.source.write = func(verb string, obj client.Object) (bool, error) {
		if verb == "delete" {
			return true, killed
		}
		return false, nil
	}
	if err := move.Run(t.Context(), w.options()); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	if err := move.Abort(t.Context(), w.options()); !errors.Is(err, move.ErrTooLate) || !w.source.paused(t) || !w.target.paused(t) {
		t.Errorf("%v; paused: %t, %t", err, w.source.paused(t), w.target.paused(t))
	}
}
