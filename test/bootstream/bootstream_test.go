package bootstream

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	uuid   = "9f2b4c1e-0d3a-4e5f-8a7b-1c2d3e4f5a6b"
	token  = "a-token-of-an-open-boot-attempt"
	secret = `{"ignition":{"version":"3.4.0"}}`
)

// tenants is the entry of a machine that a tenant boots, made of objects of a resource version.
func tenants(t *testing.T, version uint64, site string) bootview.Entry {
	t.Helper()
	attempt := bootview.Attempt{ID: "attempt", Token: token, Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		KernelURL: "http://images.example/kernel", InitrdURL: "http://images.example/initrd", Attempt: attempt,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bootview.Entry{
		Name: "IPXEBootConfig/default/tenants", UUID: uuid, Rank: bootview.Current, Site: site, Version: version, Script: script,
		Ignition: &bootview.Ignition{Payload: []byte(secret), ContentType: "application/json"},
		Attempt:  attempt, Terms: bootview.Terms{Server: "server", Seen: time.Now().Add(-time.Minute)},
	}
}

// boots reports whether a machine gets script and ignition.
func (b *bootServer) boots() bool {
	if status, script := b.get("/ipxe/" + uuid); status != http.StatusOK || !strings.Contains(script, "kernel ${kernel-url}") {
		return false
	}
	status, body := b.get("/ignition/" + uuid + "?token=" + token)
	return status == http.StatusOK && body == secret
}

// knowsNothing reports whether a machine is told that there is nothing for it.
func (b *bootServer) knowsNothing() bool {
	script, _ := b.get("/ipxe/" + uuid)
	ignition, _ := b.get("/ignition/" + uuid + "?token=" + token)
	return script == http.StatusNotFound && ignition == http.StatusNotFound
}

func TestAMachineBootsWhileTheManagerIsAway(t *testing.T) {
	p, d := newPKI(t), newDisk(t)
	m := p.startManager(7, "boot-1")
	m.view.Put(tenants(t, 7, ""))
	b := p.startBootServer("boot-1", d, m.address)
	await.True(t, "the boot of the machine", b.boots)
	await.True(t, "a heartbeat, after which the view on disk counts", func() bool { return !b.follower.State().Heard.IsZero() })
	m.stop()
	if !b.boots() {
		t.Error("the boot server stops to answer with its manager")
	}
	b.stop()
	if content, err := os.ReadFile(d.path + "/view"); err != nil || strings.Contains(string(content), secret) || strings.Contains(string(content), uuid) {
		t.Errorf("the view on disk can be read without its key (%v)", err)
	}
}

func TestABootServerThatStartsWithoutAManagerServesItsLastView(t *testing.T) {
	p, d := newPKI(t), newDisk(t)
	m := p.startManager(7, "boot-1")
	m.view.Put(tenants(t, 7, ""))
	d.with(p, "boot-1", m, "the view", func(b *bootServer) bool { return b.boots() && !b.follower.State().Heard.IsZero() })
	m.stop()
	d.with(p, "boot-1", m, "the boot without a manager", (*bootServer).boots)

	// Another manager has seen the claim end; one that lags behind has not, and comes last.
	next := p.startManager(9, "boot-1")
	d.with(p, "boot-1", next, "the end of the claim", (*bootServer).knowsNothing)
	next.stop()
	lagging := p.startManager(8, "boot-1")
	lagging.view.Put(tenants(t, 7, ""))
	b, end := d.start(p, "boot-1", lagging.address)
	defer end()
	await.True(t, "attempts to follow the manager that lags behind", func() bool { return lagging.asked.Load() >= 3 })
	if s := b.follower.State(); s.Manager != "" || !b.knowsNothing() {
		t.Errorf("a manager that lags behind brings back the ignition of a tenant who has gone: %+v", s)
	}
}

func TestADeletionReachesTheBootServer(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(7, "boot-1")
	m.view.Put(tenants(t, 7, ""))
	b := p.startBootServer("boot-1", nil, m.address)
	await.True(t, "the boot of the machine", b.boots)
	m.view.Delete(tenants(t, 7, "").Name)
	await.True(t, "the end of the claim", b.knowsNothing)
}

func TestASiteHasNothingOfAnother(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(1, "boot-a=a", "boot-b=b")
	m.view.Put(tenants(t, 1, "a"))
	a, b := p.startBootServer("boot-a", nil, m.address), p.startBootServer("boot-b", nil, m.address)
	await.True(t, "the boot at its site", a.boots)
	await.True(t, "the view of the other site", func() bool { return b.follower.State().Synced })
	if !b.knowsNothing() {
		t.Error("a boot server has the machine of another site")
	}
	if s := b.follower.State(); s.Site != "b" {
		t.Errorf("its site is %q", s.Site)
	}
	m.view.Put(tenants(t, 2, "b"))
	await.True(t, "the boot at the new site", b.boots)
	await.True(t, "the end at the former site", a.knowsNothing)
}

func TestSecretsComeWithTheBootAndGoWithIt(t *testing.T) {
	p, d := newPKI(t), newDisk(t)
	m := p.startManager(1, "boot-1")
	closed := tenants(t, 1, "")
	closed.Attempt.Open = false
	m.view.Put(closed)
	b := p.startBootServer("boot-1", d, m.address)
	await.True(t, "the view", func() bool { return b.follower.State().Synced })
	if status, _ := b.get("/ignition/" + uuid + "?token=" + token); status == http.StatusOK {
		t.Error("ignition is served before the boot is open")
	}
	m.view.Put(tenants(t, 2, ""))
	await.True(t, "the open boot", b.boots)
	closed.Version = 3
	m.view.Put(closed)
	await.True(t, "the end of the boot", func() bool {
		status, body := b.get("/ignition/" + uuid + "?token=" + token)
		return status != http.StatusOK && !strings.Contains(body, secret)
	})
}

func TestStrangersGetNothing(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(1, "boot-1")
	m.view.Put(tenants(t, 1, ""))
	for name, b := range map[string]*bootServer{
		"a name that is not in the table": p.startBootServer("boot-2", nil, m.address),
		"the authority of somebody else":  p.startBootServerWith(credentials.NewTLS(p.identityOfAnother("boot-1")), nil, m.address),
		"a manager by another name":       p.startBootServerWith(credentials.NewTLS(p.identity("boot-1", "", authority.BootServer).ClientConfig("other.example")), nil, m.address),
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				if status, _ := b.get("/ipxe/" + uuid); status != http.StatusServiceUnavailable {
					t.Fatalf("status %d", status)
				}
			}
			if s := b.follower.State(); s.Synced || s.Manager != "" {
				t.Errorf("%+v", s)
			}
		})
	}
	if b := m.server.BootServers(); len(b) != 0 {
		t.Errorf("they follow: %+v", b)
	}
}

func TestABootIsOrderedWhenItsBootServerHasIt(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(1, "boot-a=a")
	e := tenants(t, 1, "a")
	m.view.Put(e)
	if r, _ := m.server.Reach(e.Name); r != bootstream.NoFollower {
		t.Errorf("without a boot server: %v", r)
	}
	p.startBootServer("boot-a", nil, m.address)
	await.True(t, "the acknowledgement", func() bool { r, _ := m.server.Reach(e.Name); return r == bootstream.Reached })
}

// start starts a boot server on the disk; end stops it and gives the disk back.
func (d *disk) start(p *pki, name string, managers ...string) (b *bootServer, end func()) {
	p.t.Helper()
	b = p.startBootServer(name, d, managers...)
	return b, func() {
		b.stop()
		b.close()
	}
}

// with waits until something holds of a boot server that runs on the disk meanwhile.
func (d *disk) with(p *pki, name string, m *manager, what string, holds func(*bootServer) bool) {
	p.t.Helper()
	b, end := d.start(p, name, m.address)
	defer end()
	await.True(p.t, what, func() bool { return holds(b) })
}
