package acceptance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// TestBackupUnderLoadIsRestoredElsewhere: a backup that was made while objects come and go has everything that was there before it. Restored elsewhere,
// the machines that run are not touched, whether the
// backup knows their claims or not, and the next claim boots.
func TestBackupUnderLoadIsRestoredElsewhere(t *testing.T) {
	l := newLab(t, 3)
	p := l.up(t)
	l.discover(p)
	_, server, machine := l.runs(p, "web")
	before := p.objects()

	ctx, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	var load sync.WaitGroup
	for writer := range 3 {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				object := &corev1.ConfigMap{ObjectMeta: objectMeta("default", fmt.Sprintf("load-%d-%d", writer, i))}
				if p.Create(ctx, object) == nil && i%3 > 0 {
					_ = p.Delete(ctx, object)
				}
				written.Add(1)
			}
		})
	}
	file, passphrase := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(passphrase, []byte("correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Eventually("there is load", func(context.Context) error {
		if n := written.Load(); n < 20 {
			return fmt.Errorf("%d objects", n)
		}
		return nil
	})
	if _, stderr, code := product.Ask(t, product.Farrier, "backup", "--data-dir", l.DataDir, "--passphrase-file", passphrase, file); code != 0 || stderr != "" {
		t.Fatalf("backup: %d %s", code, stderr)
	}
	stop()
	load.Wait()
	_, unknown, later := l.runs(p, "later") // which the backup does not know
	resets, boots, laterResets := machine.Resets(), len(machine.Record()), later.Resets()
	p.Kill()
	if err := os.RemoveAll(l.DataDir); err != nil {
		t.Fatal(err)
	}

	l.DataDir = filepath.Join(t.TempDir(), "elsewhere")
	if out, stderr, code := product.Ask(t, product.Farrier, "restore", "--data-dir", l.DataDir, "--passphrase-file", passphrase, file); code != 0 || !strings.Contains(out, "restored to "+l.DataDir) {
		t.Fatalf("restore: %s %s", out, stderr)
	}
	p = l.up(t)
	after := p.objects()
	for id, what := range before {
		if after[id] != what {
			t.Errorf("%s was there before the backup, and %q is now", what, after[id])
		}
	}
	var servers metalv1.ServerList
	if err := p.List(t.Context(), &servers); err != nil {
		t.Fatal(err)
	}
	for i := range servers.Items {
		parked, power := &servers.Items[i], metalv1.PowerStateOff
		if parked.Name == server.Name || parked.Name == unknown.Name {
			power = metalv1.PowerStateOn
		}
		if p.serverIs(parked.Name, metalv1.ServerStateParked, power); parked.Name != unknown.Name {
			p.annotated(parked, metalv1.AnnotationOperation, metalv1.OperationUnpark)
		}
	}
	p.serverIs(server.Name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if again := p.bound("web"); again != server.Name {
		t.Errorf("the claim is bound to %s, and was to %s", again, server.Name)
	}
	// A claim that is made now is served, and still nothing happens to the machine that runs.
	l.ignition(p, "next", "ignition")
	l.claim(p, "next")
	p.boots(l.machine(p, p.bound("next")), sim.OutcomeInstalled)
	if got := machine.Resets(); !maps.Equal(got, resets) || len(machine.Record()) != boots {
		t.Errorf("the running machine was touched: resets %v, before %v; %d boots, before %d", got, resets, len(machine.Record()), boots)
	}
	// So it is with the machine of whom the backup does not know, until a person says that it is free.
	p.serverIs(unknown.Name, metalv1.ServerStateParked, metalv1.PowerStateOn)
	if got := later.Resets(); !maps.Equal(got, laterResets) {
		t.Errorf("the machine of a parked server was touched: resets %v, before %v", got, laterResets)
	}
	p.annotated(unknown, metalv1.AnnotationOperation, metalv1.OperationUnpark)
	p.serverIs(unknown.Name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// objects are the names of all objects that matter, by their UIDs.
func (p *running) objects() map[string]string {
	p.t.Helper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{
		&metalv1.EndpointList{}, &metalv1.BMCList{}, &metalv1.BMCSecretList{}, &metalv1.ServerList{}, &metalv1.ServerClaimList{},
		&metalv1.ServerBootConfigurationList{}, &bootv1.IPXEBootConfigList{}, &corev1.SecretList{}, &corev1.ConfigMapList{},
	} {
		if err := p.List(p.t.Context(), list); err != nil {
			p.t.Fatal(err)
		}
		if err := apimeta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			found[string(object.GetUID())] = fmt.Sprintf("%T %s", object, client.ObjectKeyFromObject(object))
			return nil
		}); err != nil {
			p.t.Fatal(err)
		}
	}
	return found
}

func TestRestoreTakesNothingThatIsWrong(t *testing.T) {
	t.Parallel()
	data, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	p := start(t, data)
	p.Stop()
	ask := func(want int, args ...string) string {
		t.Helper()
		out, stderr, code := product.Ask(t, product.Farrier, args...)
		if code != want {
			t.Errorf("%v: exit code %d, %s%s", args, code, out, stderr)
		}
		return out + stderr
	}
	says := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not say %q", text, part)
			}
		}
	}
	// Of one that does not run; and not over another file.
	says(ask(0, "backup", "--data-dir", data, file), file, "not encrypted")
	says(ask(1, "backup", "--data-dir", data, file), file, "exists")
	says(ask(1, "backup", "--data-dir", t.TempDir(), file+"2"), "--data-dir", "never run")
	says(ask(0, "restore", "--check", file), "complete")

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	missing, empty := filepath.Join(t.TempDir(), "new"), t.TempDir()
	for _, dir := range []string{missing, empty} {
		says(ask(1, "restore", "--data-dir", dir, short), short, "truncated or damaged")
		says(ask(1, "restore", "--data-dir", dir, short+"er"), short+"er", "no such file")
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("a restore that failed made the directory: %v", err)
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("a restore that failed left %v, %v", entries, err)
	}
	says(ask(1, "restore", "--data-dir", data, file), data, "not empty")

	// A directory that is in use is neither restored to nor deleted.
	p = start(t, data)
	says(ask(1, "reset", "--data-dir", data, "--yes"), data, "in use", fmt.Sprint(p.PID()))
	p.Stop()
	says(ask(1, "reset", "--data-dir", data), "Type yes", "nothing was deleted")
	says(ask(1, "reset", "--data-dir", t.TempDir(), "--yes"), "never run")
	says(ask(0, "reset", "--data-dir", data, "--yes"), filepath.Join(data, "etcd"), "is empty")
	if entries, err := os.ReadDir(data); err != nil || len(entries) > 0 {
		t.Errorf("a reset left %v, %v", entries, err)
	}
	says(ask(0, "restore", "--data-dir", data, file), data)
	start(t, data)
}
