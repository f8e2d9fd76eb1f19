package bootstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc/credentials"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/test/await"
)

// lifetime is that of certificates here; all clocks of certificates are in the hands of the test.
const lifetime = 24 * time.Hour

// mountedSecret is a Secret of cert-manager as the kubelet mounts it: files are links into ..data, a link to a directory, which one rename replaces.
type mountedSecret struct {
	t       *testing.T
	path    string
	version int
}

func (s *mountedSecret) lay(files map[string][]byte) {
	s.t.Helper()
	s.version++
	directory := "..version-" + strconv.Itoa(s.version)
	err := os.MkdirAll(filepath.Join(s.path, directory), 0o755)
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(s.path, directory, name), content, 0o440))
		if s.version == 1 {
			err = errors.Join(err, os.Symlink(filepath.Join("..data", name), filepath.Join(s.path, name)))
		}
	}
	next := filepath.Join(s.path, "..data_tmp")
	err = errors.Join(err, os.Symlink(directory, next), os.Rename(next, filepath.Join(s.path, "..data")))
	if s.version > 1 {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.path, "..version-"+strconv.Itoa(s.version-1))))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// issuer is what cert-manager has of an issuer.
type issuer struct {
	t         *testing.T
	authority *authority.Authority
	clock     *clocktesting.FakeClock
}

func newIssuer(t *testing.T, clock *clocktesting.FakeClock) *issuer {
	t.Helper()
	certificate, key, err := authority.New(clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := authority.Read(certificate, key, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, a, clock}
}

// secret is what cert-manager puts into the Secret of a Certificate: its key is another one each time (rotationPolicy: Always).
func (i *issuer) secret(name string, role authority.Role, trusted ...*issuer) map[string][]byte {
	i.t.Helper()
	key, keyPEM, err := authority.NewKey()
	if err != nil {
		i.t.Fatal(err)
	}
	certificate, err := i.authority.Issue(key.Public(), name, role, i.clock.Now(), lifetime)
	if err != nil {
		i.t.Fatal(err)
	}
	var bundle []byte
	for _, other := range trusted {
		bundle = append(bundle, other.authority.PEM()...)
	}
	return map[string][]byte{peer.CertFile: certificate, peer.KeyFile: keyPEM, peer.CAFile: bundle}
}

// end is one end of the stream: who it is, as files say.
type end struct {
	secret   *mountedSecret
	identity *peer.Identity
}

func newEnd(t *testing.T, clock *clocktesting.FakeClock, files map[string][]byte) *end {
	t.Helper()
	e := &end{secret: &mountedSecret{t: t, path: t.TempDir()}}
	e.secret.lay(files)
	var err error
	if e.identity, err = peer.FromFiles(peer.In(e.secret.path), peer.Options{Clock: clock, Logger: testr.New(t)}); err != nil {
		t.Fatal(err)
	}
	background(t, e.identity.Run)
	return e
}

// background runs something until the test ends.
func background(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = run(ctx) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}

// everyTenMilliseconds asks as a machine does until the test ends, and counts answers. None of them may be anything but a boot.
func (b *bootServer) everyTenMilliseconds() *atomic.Int64 {
	answers := &atomic.Int64{}
	background(b.t, func(ctx context.Context) error {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			if status, _ := b.get("/ipxe/" + uuidOf(1)); status != 200 {
				b.t.Errorf("answer %d is %d", answers.Load(), status)
			}
			answers.Add(1)
		}
	})
	return answers
}

// TestCertificatesAreReplacedUnderTraffic: keys, certificates and then the authority are replaced at both ends, a certificate expires while its
// boot server is connected and is renewed too late. Machines are answered throughout, and what changes comes through after every step.
func TestCertificatesAreReplacedUnderTraffic(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	old, next := newIssuer(t, clock), newIssuer(t, clock)
	const name = "boot-1.north.example"
	its := newEnd(t, clock, old.secret(managerName, authority.Manager, old))
	ours := newEnd(t, clock, old.secret(name, authority.BootServer, old))
	p := newPKI(t)
	m := p.startManagerWith(managerOptions{observed: 1, heartbeat: quick, shown: its.identity}, name)
	background(t, m.authorizer.Run)
	m.view.Put(entryOf(t, 1, 1))
	b := p.startBootServerWith(credentials.NewTLS(ours.identity.ClientConfig(managerName)), nil, m.address)
	await.True(t, "the view", func() bool { return b.generation(1) == 1 })
	answers := b.everyTenMilliseconds()

	generation := 1
	follows := func(what string) {
		t.Helper()
		generation++
		m.view.Put(entryOf(t, 1, generation))
		await.True(t, "a change after "+what, func() bool { return b.generation(1) == generation })
		before := answers.Load()
		await.True(t, "answers after "+what, func() bool { return answers.Load() > before+5 })
	}
	lay := func(e *end, files map[string][]byte) {
		t.Helper()
		before := e.identity.Leaf()
		e.secret.lay(files)
		await.True(t, "new files to be used", func() bool {
			clock.Step(time.Second)
			return !e.identity.Leaf().Equal(before)
		})
	}
	again := func() { // everybody connects anew, with what is in use now
		t.Helper()
		m.authorizer.SetTable(peer.Table{})
		await.True(t, "no boot server", func() bool { return len(m.server.BootServers()) == 0 })
		m.authorizer.SetTable(peer.Table{name: {}})
		await.True(t, "the boot server", func() bool { return len(m.server.BootServers()) == 1 })
	}

	lay(its, old.secret(managerName, authority.Manager, old))
	follows("the manager's certificate was replaced")
	lay(ours, old.secret(name, authority.BootServer, old))
	follows("the boot server's certificate was replaced")
	again()
	follows("connecting by new certificates")

	lay(its, old.secret(managerName, authority.Manager, old, next))
	lay(ours, old.secret(name, authority.BootServer, old, next))
	follows("both authorities are trusted")
	lay(its, next.secret(managerName, authority.Manager, old, next))
	again()
	lay(ours, next.secret(name, authority.BootServer, old, next))
	again()
	follows("the next authority has issued both")
	lay(its, next.secret(managerName, authority.Manager, next))
	lay(ours, next.secret(name, authority.BootServer, next))
	again()
	follows("the old authority is trusted no longer")

	clock.Step(lifetime / 2)
	lay(its, next.secret(managerName, authority.Manager, next))
	follows("half of its lifetime")
	clock.Step(ours.identity.Leaf().NotAfter.Sub(clock.Now()))
	await.True(t, "the end of a connection whose certificate has expired", func() bool {
		clock.Step(time.Second)
		return len(m.server.BootServers()) == 0
	})
	if now := clock.Now(); !now.After(ours.identity.Leaf().NotAfter) || now.After(its.identity.Leaf().NotAfter) {
		t.Fatalf("at %s certificates end at %s and %s", now, ours.identity.Leaf().NotAfter, its.identity.Leaf().NotAfter)
	}
	m.view.Put(entryOf(t, 1, generation+1))
	before := answers.Load()
	await.True(t, "answers of a boot server whose certificate has expired", func() bool { return answers.Load() > before+20 })
	if got := b.generation(1); got != generation {
		t.Errorf("it has generation %d, which came without a certificate", got)
	}
	lay(ours, next.secret(name, authority.BootServer, next))
	generation++
	await.True(t, "what has changed meanwhile", func() bool { return b.generation(1) == generation })
	follows("renewing it too late")
}
