package bootserver

import (
	"net/netip"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// TestAMachineThatGoesOnElsewhere: a machine begins to boot with one boot server and reports to another. That one has it come again until it knows
// whom the boot is bound to, then takes its report and nobody else's.
func TestAMachineThatGoesOnElsewhere(t *testing.T) {
	const its, other = "192.0.2.10", "192.0.2.66"
	terms := bootview.Terms{Seen: now.Add(time.Second)}
	first, second := newGuarded(t, IdentityAddress, nil, terms), newGuarded(t, IdentityAddress, nil, terms)
	second.Server.cfg.Others = true
	if !first.token(its) {
		t.Fatal("no script")
	}
	reports := func(from string) int {
		return second.do("POST", exchange{path: "/probe/" + tokenA + "/register", body: report(uuidA), from: from}).Code
	}
	if got := reports(its); got != 503 || len(*second.alarms) > 0 {
		t.Errorf("before it is known who boots: %d, alarms %v", got, *second.alarms)
	}

	// The manager tells whom the first one has bound the boot to.
	var told []bootview.Entry
	m, _ := first.view.ByUUID(uuidA)
	manager := bootview.New()
	manager.SetSynced(true)
	manager.Observe(bootview.Observer[bootview.Entry]{Put: func(e bootview.Entry) { told = append(told, e) }})
	for range 2 {
		for _, e := range entries(t)[:2] {
			e.Attempt.ID += "-2"
			e.Terms = terms
			manager.Put(e)
		}
		known, _ := manager.ByUUID(uuidA)
		known.Session().Bind(m.Session().Bound(), false)
	}
	for _, e := range told {
		second.view.Put(e)
	}
	if got := reports(other); got != 403 {
		t.Errorf("a stranger's report: %d", got)
	}
	if got := reports(its); got != 201 {
		t.Errorf("the machine's report: %d", got)
	}
	if known, _ := second.view.ByUUID(uuidA); known.Session().Bound().Addr != netip.MustParseAddr("192.0.2.10") {
		t.Errorf("bound to %v", known.Session().Bound())
	}
}
