package bootserver

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootview"
)

const macA, macStranger = "02:fa:44:00:00:0a", "02:fa:44:00:00:99"

// guarded is a site whose clock can be set and that knows the MAC addresses of some neighbours.
type guarded struct {
	site
	clock  *clocktesting.FakePassiveClock
	alarms *[]Alarm
	early  *int
}

func newGuarded(t *testing.T, identity Identity, neighbours map[string]string, terms bootview.Terms) guarded {
	t.Helper()
	g := guarded{clock: clocktesting.NewFakePassiveClock(now), alarms: &[]Alarm{}, early: new(int)}
	g.site = newSite(t, func(c *Config) {
		c.Identity, c.Clock = identity, g.clock
		c.Neighbour = func(a netip.Addr) string { return neighbours[a.String()] }
		c.Alarm = func(a Alarm) { *g.alarms = append(*g.alarms, a) }
		c.Early = func(string) { *g.early++ }
	})
	g.Server.timeouts.early = 0
	for _, e := range entries(t)[:2] {
		e.Attempt.ID += "-2" // a boot of its own
		e.Terms = terms
		g.view.Put(e)
	}
	return g
}

func (g guarded) token(from string) bool {
	return strings.Contains(g.do("GET", exchange{path: "/ipxe/" + uuidA, from: from}).Body.String(), tokenA)
}

func (g guarded) ignition(from, token string) int {
	return g.do("GET", exchange{path: "/ignition/" + uuidA + "?token=" + token, from: from}).Code
}

// TestNothingBeforePowerOn: whoever asks then has to come back, the BMC is asked soon, and nobody is bound.
func TestNothingBeforePowerOn(t *testing.T) {
	g := newGuarded(t, IdentityAddress, nil, bootview.Terms{})
	for _, e := range []exchange{
		{path: "/ipxe/" + uuidA}, {path: "/ignition/" + uuidA}, {path: "/ignition/" + uuidA + "?token=" + tokenA}, {path: "/probe/" + uuidA},
		{method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidA)}, {method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(uuidA)},
	} {
		if e.method == "" {
			e.method = "GET"
		}
		if got := g.do(e.method, e); got.Code != 503 || got.Header().Get("Retry-After") == "" || strings.Contains(got.Body.String(), tokenA) {
			t.Errorf("%s %s: %d %s", e.method, e.path, got.Code, got.Body)
		}
	}
	if *g.early == 0 || len(g.reports.registrations)+len(g.reports.states) > 0 || len(*g.alarms) > 0 {
		t.Errorf("the BMC was asked %d times, stored %d, alarms %v", *g.early, len(g.reports.registrations), *g.alarms)
	}
	m, _ := g.view.ByUUID(uuidA)
	if bound := m.Session().Bound(); !bound.IsZero() {
		t.Errorf("bound to %v", bound)
	}
}

// TestARequestWaitsForPowerOn: a machine that is faster than the poll of its BMC is answered as soon as that is over.
func TestARequestWaitsForPowerOn(t *testing.T) {
	g := newGuarded(t, IdentityAddress, nil, bootview.Terms{})
	g.Server.timeouts.early = time.Minute
	g.Server.cfg.Early = func(string) {
		for _, e := range entries(t)[:2] {
			e.Attempt.ID, e.Terms = "attempt-a-2", seenOn
			g.view.Put(e)
		}
	}
	if !g.token(addrA) {
		t.Error("it was not given its script")
	}
}

// TestPowerOnDuringARequest: a machine is seen on while a stranger's request is being decided. That request is still one from before power-on, and
// binds nobody: only a script asked for after power-on does.
func TestPowerOnDuringARequest(t *testing.T) {
	for _, e := range []exchange{
		{method: "GET", path: "/probe/" + uuidA},
		{method: "GET", path: "/ignition/" + uuidA},
		{method: "POST", path: "/register", body: report(uuidA)},
		{method: "POST", path: "/bootstate", body: booted(uuidA)},
	} {
		t.Run(e.path, func(t *testing.T) {
			g := newGuarded(t, IdentityAddress, nil, bootview.Terms{})
			g.Server.cfg.AllowUnauthenticatedProbe = true
			g.Server.cfg.Neighbour = func(netip.Addr) string { // asked after the request was looked at, and before it is decided
				for _, e := range entries(t)[:2] {
					e.Attempt.ID, e.Terms = "attempt-a-2", bootview.Terms{Seen: now.Add(time.Minute)}
					g.view.Put(e)
				}
				return ""
			}
			e.from = stranger
			if got := g.do(e.method, e); got.Code < 400 {
				t.Errorf("a stranger was answered: %d %s", got.Code, got.Body)
			}
			m, _ := g.view.ByUUID(uuidA)
			if bound := m.Session().Bound(); !bound.IsZero() {
				t.Errorf("bound to %v", bound)
			}
			if !g.token(addrA) {
				t.Error("the machine was refused")
			}
		})
	}
}

// TestWhoIsTheMachine: who may have what is secret, by mode and by what is known of the caller.
func TestWhoIsTheMachine(t *testing.T) {
	neighbours := map[string]string{addrA: macA, "10.0.0.20": macStranger, "10.0.0.21": macA}
	inspected := bootview.Terms{Seen: now.Add(-headStart), Inspected: true}
	for _, c := range []struct {
		name     string
		identity Identity
		terms    bootview.Terms
		from     string
		want     bool
	}{
		{"address: a stranger in discovery", IdentityAddress, seenOn, stranger, true},
		{"address: another MAC address, in discovery", IdentityAddress, seenOn, "10.0.0.20", true},
		{"address: another MAC address", IdentityAddress, inspected, "10.0.0.20", false},
		{"address: another machine's address", IdentityAddress, inspected, addrB, false},
		{"address: an unknown one, after the head start", IdentityAddress, inspected, stranger, true},
		{"address: an unknown one, at once", IdentityAddress, bootview.Terms{Seen: now, Inspected: true}, stranger, false},
		{"address: the own one, at once", IdentityAddress, bootview.Terms{Seen: now, Inspected: true}, addrA, true},
		{"address: an unknown one with the own MAC address, at once", IdentityAddress, bootview.Terms{Seen: now, Inspected: true}, "10.0.0.21", true},
		{"address: after the deadline", IdentityAddress, bootview.Terms{Seen: now.Add(-2 * DefaultSecretsDeadline)}, addrA, false},
		{"mac: unknown", IdentityMAC, seenOn, stranger, false},
		{"mac: another's", IdentityMAC, seenOn, "10.0.0.20", false},
		{"mac: the own", IdentityMAC, seenOn, "10.0.0.21", true},
		{"bmc: the own MAC address", IdentityBMC, seenOn, addrA, false},
		{"token: another MAC address", IdentityToken, inspected, "10.0.0.20", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newGuarded(t, c.identity, neighbours, c.terms).token(c.from); got != c.want {
				t.Errorf("it got the token: %v", got)
			}
		})
	}
}

// TestAStrangerAfterTheMachine: nothing secret, an alarm for each thing, once; and where a machine may boot again, that alone may.
func TestAStrangerAfterTheMachine(t *testing.T) {
	terms := bootview.Terms{Seen: now, Repeats: true, Server: "s"}
	g := newGuarded(t, IdentityAddress, nil, terms)
	g.boots(uuidA, addrA)
	for _, at := range []time.Duration{0, 2 * DefaultSecretsDeadline} {
		g.clock.SetTime(now.Add(at))
		for range 3 {
			if g.token(stranger) || g.ignition(stranger, tokenA) != 403 || g.ignition(stranger, "") != 403 {
				t.Error("a stranger was given a secret")
			}
			if got := g.do("POST", exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: stranger}).Code; got != 403 {
				t.Errorf("a stranger's report: %d", got)
			}
			if got := g.do("GET", exchange{path: "/probe/" + uuidA, from: stranger}).Code; got != 403 {
				t.Errorf("a stranger asks where to report: %d", got)
			}
			if !g.token(addrA) || g.ignition(addrA, tokenA) != 200 {
				t.Error("the machine was refused")
			}
		}
	}
	var told []string
	for _, a := range *g.alarms {
		told = append(told, string(a.What))
		if a.Server != "s" || a.Caller.Addr.String() != stranger || a.Bound.Addr.String() != addrA || a.Why == "" {
			t.Errorf("alarm %+v", a)
		}
	}
	if got := strings.Join(told, " "); got != "Script Ignition Report" {
		t.Errorf("alarms: %s", got)
	}
}

// TestSecretsCloseForGood: of a boot that is not repeated.
func TestSecretsCloseForGood(t *testing.T) {
	g := newGuarded(t, IdentityAddress, nil, seenOn)
	g.boots(uuidA, addrA)
	g.clock.SetTime(now.Add(2 * DefaultSecretsDeadline))
	if g.token(addrA) || g.ignition(addrA, tokenA) != 403 {
		t.Error("secrets are given after the deadline")
	}
	if got := g.do("POST", exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: addrA}).Code; got != 201 {
		t.Errorf("what runs there reports hours later: %d", got)
	}
}

// TestAReportNeedsTheImage: who has the token and never loaded what it names does not run it.
func TestAReportNeedsTheImage(t *testing.T) {
	g := newGuarded(t, IdentityAddress, nil, seenOn)
	post := exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: addrA}
	if !g.token(addrA) {
		t.Fatal("no token")
	}
	if got := g.do("POST", post).Code; got != 403 || len(*g.alarms) != 1 {
		t.Errorf("status %d, alarms %v", got, *g.alarms)
	}
	g.do("GET", exchange{path: "/image?x", from: addrA})
	for i := range mostReports + 1 {
		want := 201
		if i == mostReports {
			want = 429
		}
		if got := g.do("POST", post).Code; got != want {
			t.Errorf("report %d: %d, want %d", i, got, want)
		}
	}
	if by := g.reports.registrations[0].Contested; by != "" {
		t.Errorf("contested by %s", by)
	}
}

// TestAContestedBoot: that two asked for one boot goes with what is reported of it, unless it is certain which of them is the machine.
func TestAContestedBoot(t *testing.T) {
	for identity, want := range map[Identity]string{IdentityAddress: stranger, IdentityMAC: ""} {
		neighbours := map[string]string{addrA: macA}
		if identity == IdentityAddress {
			neighbours = nil
		}
		g := newGuarded(t, identity, neighbours, seenOn)
		g.boots(uuidA, addrA)
		g.token(stranger)
		g.do("POST", exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: addrA})
		if len(g.reports.registrations) != 1 || g.reports.registrations[0].Contested != want {
			t.Errorf("%s: %+v", identity, g.reports.registrations)
		}
	}
	g := newGuarded(t, IdentityAddress, nil, bootview.Terms{Seen: now, Inspected: true})
	g.boots(uuidA, addrA) // where it was when it was inspected
	g.token(stranger)
	g.do("POST", exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: addrA})
	if len(g.reports.registrations) != 1 || g.reports.registrations[0].Contested != "" {
		t.Errorf("a machine at its own address: %+v", g.reports.registrations)
	}
}

// TestByBMC: the URL that a BMC was given binds who uses it, which is as good as the token; another's is refused.
func TestByBMC(t *testing.T) {
	for _, identity := range []Identity{IdentityBMC, IdentityAddress} {
		g := newGuarded(t, identity, nil, bootview.Terms{BMCToken: "of-the-bmc"}) // its firmware may be faster than the poll
		uki := "/httpboot/~of-the-bmc/r/i/sha256-aa.efi"
		if got := g.do("GET", exchange{path: "/httpboot/~wrong/r/i/sha256-aa.efi", from: stranger}).Code; got != 404 {
			t.Errorf("a wrong token: %d", got)
		}
		for _, method := range []string{"HEAD", "GET"} {
			if got := g.do(method, exchange{path: uki, from: addrA}); got.Code != 200 || method == "GET" && got.Body.String() != "/httpboot/r/i/sha256-aa.efi" {
				t.Fatalf("%s: %d %s", method, got.Code, got.Body)
			}
		}
		for _, e := range entries(t)[:2] {
			e.Attempt.ID, e.Terms = "attempt-a-2", bootview.Terms{BMCToken: "of-the-bmc", Seen: now}
			g.view.Put(e)
		}
		if got := g.do("GET", exchange{path: uki, from: stranger}).Code; got != 403 || len(*g.alarms) != 1 {
			t.Errorf("another uses it: %d, alarms %v", got, *g.alarms)
		}
		if g.ignition(addrA, "") != 200 || g.ignition(stranger, "") != 403 || g.do("GET", exchange{path: "/probe/" + uuidA, from: addrA}).Code != 200 {
			t.Errorf("%s: the machine was refused, or a stranger was not", identity)
		}
	}
}

// TestFirstReader: what no boot of ours stands behind is for its first reader, where somebody asked for that.
func TestFirstReader(t *testing.T) {
	g := newGuarded(t, IdentityAddress, nil, seenOn)
	hand := entries(t)[5]
	hand.Terms.BindFirst = "d/1"
	g.view.Put(hand)
	read := func(from string) int { return g.do("GET", exchange{path: "/ignition/" + uuidD, from: from}).Code }
	if a, b, again := read(stranger), read(addrE), read(stranger); a != 200 || b != 403 || again != 200 {
		t.Errorf("first %d, another %d, first again %d", a, b, again)
	}
	hand.Terms.BindFirst = "d/2" // an edit begins anew
	g.view.Put(hand)
	if b, a := read("10.0.0.77"), read(stranger); b != 200 || a != 403 {
		t.Errorf("after an edit: first %d, another %d", b, a)
	}
}
