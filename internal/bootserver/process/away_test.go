package process

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// total is how many answers of a kind both managers know of.
func total(kind string, managers ...*manager) (n uint32) {
	for _, m := range managers {
		n += m.deliveries()[kind]
	}
	return n
}

// TestAManagerIsAway: answers go on, a report waits at the machine, and what was given arrives once, when there is a manager again.
func TestAManagerIsAway(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	o := p.options(m.address)
	o.ServeStale = 0
	b := startBootServer(t, o)
	await.True(t, "the boot of the machine", b.boots)
	asked := uint32(0)
	count := func() {
		if b.get("/ipxe/"+uuid).status == http.StatusOK {
			asked++
		}
	}
	before := total("Script", m)
	await.True(t, "what was given before", func() bool { before = total("Script", m); return before > 0 && b.outbox.Waiting() == 0 })
	m.stop()
	await.True(t, "the manager is away", func() bool { return b.status.now.Load().Manager == "" })
	for range 100 {
		count()
	}
	if asked != 100 {
		t.Errorf("%d of 100 requests were answered without a manager", asked)
	}
	for _, path := range []string{"register", "bootstate"} {
		body := report
		if path == "bootstate" {
			body = `{"systemUUID":"` + uuid + `","booted":true}`
		}
		if a := b.post("/probe/"+token+"/"+path, body); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%s without a manager: %+v", path, a)
		}
	}
	if a := b.get("/readyz"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "--serve-stale") {
		t.Errorf("/readyz without a manager: %+v", a)
	}
	if b.outbox.Waiting() == 0 {
		t.Error("nothing waits")
	}
	next := p.startManager(m.address, 7, time.Hour)
	next.view.Put(tenants(t, 7))
	await.True(t, "everything at the next manager", func() bool { return b.outbox.Waiting() == 0 && total("Script", next) >= 100 })
	if got := total("Script", next); got != asked {
		t.Errorf("the next manager knows of %d answers, %d were given", got, asked)
	}
	if a := b.post("/probe/"+token+"/register", report); a.status != http.StatusCreated {
		t.Errorf("report to the next manager: %+v", a)
	}
	await.True(t, "readiness", func() bool { return b.get("/readyz").status == http.StatusOK })
}

// TestWhatAManagerSaysOfAReport is what the machine is told.
func TestWhatAManagerSaysOfAReport(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	b := startBootServer(t, p.options(m.address))
	await.True(t, "the boot of the machine", b.boots)
	for outcome, status := range map[streampb.StoreResponse_Outcome]int{
		streampb.StoreResponse_OUTCOME_STORED: 201, streampb.StoreResponse_OUTCOME_TOO_LARGE: 413, streampb.StoreResponse_OUTCOME_UNKNOWN_MACHINE: 404, 99: 503,
	} {
		m.mu.Lock()
		m.outcome = outcome
		m.mu.Unlock()
		if a := b.post("/probe/"+token+"/register", report); a.status != status {
			t.Errorf("%v: %+v, want %d", outcome, a, status)
		}
	}
	m.mu.Lock()
	m.refuse = os.ErrDeadlineExceeded
	m.mu.Unlock()
	if a := b.post("/probe/"+token+"/register", report); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("not stored: %+v", a)
	}
}

// TestWhatWasGivenLastReachesTheManager: a boot server that stops tells everything before it ends.
func TestWhatWasGivenLastReachesTheManager(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	b := startBootServer(t, p.options(m.address))
	await.True(t, "the boot of the machine", b.boots)
	asked := total("Chainload", m)
	for range 50 {
		b.get("/ipxe")
		asked++
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if got := total("Chainload", m); got != asked {
		t.Errorf("the manager knows of %d answers, %d were given", got, asked)
	}
}

// TestSecretsEnd: without a manager for longer than it said, nobody is given a secret, and all else goes on.
func TestSecretsEnd(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, 300*time.Millisecond)
	m.view.Put(tenants(t, 7))
	b := startBootServer(t, p.options(m.address))
	await.True(t, "the boot of the machine", b.boots)
	m.stop()
	secrets := []string{"/ipxe/" + uuid, "/ignition/" + uuid + "?token=" + token, "/probe/" + uuid}
	await.True(t, "the end of secrets", func() bool { return b.get(secrets[1]).status == http.StatusServiceUnavailable })
	for _, path := range secrets {
		if a := b.get(path); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || strings.Contains(a.body, token) || strings.Contains(a.body, secret) {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if a := b.get("/ipxe"); a.status != http.StatusOK {
		t.Errorf("chainload script: %+v", a)
	}
	next := p.startManager(m.address, 7, time.Hour)
	next.view.Put(tenants(t, 7))
	await.True(t, "the boot with a manager", b.boots)
}

// TestARestartWithoutAManager: a boot server that was killed serves its last view, as long as it was told to, and has lost nothing of what it
// had to tell.
func TestARestartWithoutAManager(t *testing.T) {
	p, dir := newPKI(t), t.TempDir()+"/data"
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	flags := p.flags(dir, m.address)
	first := startChild(t, nil, flags...)
	await.True(t, "the boot of the machine", first.boots)
	revision := first.get("/readyz").header.Get("Farrier-View-Revision")
	await.True(t, "a heartbeat on disk", func() bool { return first.get("/readyz").status == http.StatusOK && grows(t, dir+"/stream/view") })
	await.True(t, "everything at the manager", func() bool { return total("Script", m) > 0 && total("Ignition", m) > 0 })
	first.end() // a kill within a second of what was told would have the next manager, which knows nothing of this one, told again
	m.stop()

	second := startChild(t, nil, append(flags, "--serve-stale=1h")...)
	if a := second.get("/readyz"); a.status != http.StatusOK || a.header.Get("Farrier-View-Revision") != revision {
		t.Errorf("/readyz with the last view: %+v, want revision %s", a, revision)
	}
	if !second.boots() {
		t.Errorf("the machine does not boot: %s", second.log)
	}
	await.True(t, "what was given on disk", func() bool { return grows(t, dir+"/stream/outbox") })
	second.kill()

	third := startChild(t, nil, append(flags, "--serve-stale=0")...)
	for path, says := range map[string]string{"/readyz": "--serve-stale", "/ipxe/" + uuid: "Not synchronised"} {
		if a := third.get(path); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, says) {
			t.Errorf("%s without an old view: %+v", path, a)
		}
	}
	next := p.startManager(m.address, 7, time.Hour)
	next.view.Put(tenants(t, 7))
	await.True(t, "what the second one had to tell", func() bool { return total("Script", next) > 0 && total("Ignition", next) > 0 })
	await.True(t, "the boot of the machine", third.boots)
	await.True(t, "everything at the next manager", func() bool { return total("Script", next) >= 2 })
	third.kill()
	if got := total("Script", next); got != 2 {
		t.Errorf("%d scripts were told of, and two were sent", got)
	}
}

// grows reports whether a file has become longer, or was there at all.
func grows(t *testing.T, path string) bool {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		return false
	}
	await.Until(t, path+" is written", func() string {
		now, err := os.Stat(path)
		if err != nil {
			return err.Error()
		}
		if now.Size() != before.Size() || now.ModTime() != before.ModTime() {
			return ""
		}
		return strconv.FormatInt(now.Size(), 10) + " bytes"
	})
	return true
}

// TestADamagedViewIsNotServed, and everything is well again once there is a manager.
func TestADamagedViewIsNotServed(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	o := p.options(m.address)
	o.ViewKeyFile = keyFile(t, viewKey)
	o.ServeStale = time.Hour
	b := startBootServer(t, o)
	await.True(t, "the boot of the machine", b.boots)
	await.True(t, "a heartbeat", func() bool { return !b.status.now.Load().Heard.IsZero() })
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	m.stop()

	path := filepath.Join(o.DataDir, "stream", "view")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	b = startBootServer(t, o)
	for _, path := range []string{"/readyz", "/ipxe/" + uuid} {
		if a := b.get(path); a.status != http.StatusServiceUnavailable {
			t.Errorf("%s from a damaged view: %+v", path, a)
		}
	}
	if h := b.health(); h.GetReady() || len(h.GetProblems()) != 1 || !strings.Contains(h.GetProblems()[0], "damaged") {
		t.Errorf("health: %v", h)
	}
	next := p.startManager(m.address, 7, time.Hour)
	next.view.Put(tenants(t, 7))
	await.True(t, "the boot with a manager", b.boots)
	await.True(t, "the manager hears of it", func() bool {
		servers := next.server.BootServers()
		return len(servers) == 1 && len(servers[0].Health.GetProblems()) == 1 && servers[0].Health.GetReady() && servers[0].Health.GetRecords() == 1
	})
}

func keyFile(t *testing.T, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "view.key")
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
