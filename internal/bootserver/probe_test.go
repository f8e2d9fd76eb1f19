package bootserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/inspection"
)

func report(uuid string) string {
	return `{"systemUUID":"` + uuid + `","data":{"timestamp":"2026-01-02T03:04:05Z"}}`
}

func booted(uuid string) string { return `{"systemUUID":"` + uuid + `","booted":true}` }

func TestProbeReports(t *testing.T) {
	denied := map[string]string{"WWW-Authenticate": "*"}
	const noToken = textUnauthorized
	s := newSite(t, nil)
	s.boots(uuidA, stranger)
	s.run(t, []exchange{
		{name: "register", method: "POST", path: "/probe/" + tokenA + "/register", body: report(strings.ToUpper(uuidA)), status: 201},
		{name: "boot state", method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(uuidA), status: 201},
		{name: "wrong token", method: "POST", path: "/probe/x/register", body: report(uuidA), status: 401, headers: denied, want: noToken},
		{name: "token of a closed attempt", method: "POST", path: "/probe/token-of-b/bootstate", body: booted(uuidB), status: 401, headers: denied, want: noToken},
		{name: "about another machine", method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidB), status: 401, headers: denied, want: noToken},
		{name: "state of another machine", method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(uuidB), status: 401, headers: denied, want: noToken},
		{name: "no token", method: "POST", path: "/register", body: report(uuidA), status: 401, headers: denied, want: noToken},
		{name: "state, no token", method: "POST", path: "/bootstate", body: booted(uuidA), status: 401, headers: denied, want: noToken},
		{name: "too large", method: "POST", path: "/probe/" + tokenA + "/register", body: report(strings.Repeat("x", 1<<10)), status: 413,
			headers: map[string]string{"Connection": "close"}, want: textTooLarge},
		{name: "state too large", method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(strings.Repeat("x", 1<<10)), status: 413, want: textTooLarge},
	})
	want := []inspection.Registration{{SystemUUID: uuidA, Attempt: "attempt-a"}}
	ignoreData := cmp.Transformer("sender", func(r inspection.Registration) [2]string { return [2]string{r.SystemUUID, r.Attempt} })
	if diff := cmp.Diff(want, s.reports.registrations, ignoreData); diff != "" {
		t.Errorf("registrations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]inspection.BootState{{SystemUUID: uuidA, Attempt: "attempt-a", Booted: true}}, s.reports.states); diff != "" {
		t.Errorf("boot states (-want +got):\n%s", diff)
	}
}

func TestMalformedReports(t *testing.T) {
	s := newSite(t, nil)
	s.boots(uuidA, stranger)
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "hello", "cut": report(uuidA)[:60], "no UUID": report("x"), "other type": `{"systemUUID":7}`,
	} {
		for _, path := range []string{"/register", "/bootstate"} {
			got := s.do("POST", exchange{path: "/probe/" + tokenA + path, body: body})
			if got.Code != 400 || got.Body.Len() == 0 {
				t.Errorf("%s, %s: status %d, %q", path, name, got.Code, got.Body)
			}
		}
	}
	if len(s.reports.registrations)+len(s.reports.states) > 0 {
		t.Error("a malformed message was stored")
	}
}

func TestReportsThatCannotBeStored(t *testing.T) {
	again := map[string]string{"Retry-After": "*"}
	away := newSite(t, nil)
	away.reports.err = errors.New("manager away")
	for _, s := range []site{away, newSite(t, func(c *Config) { c.Reports = nil })} {
		s.boots(uuidA, stranger)
		s.run(t, []exchange{
			{name: "register", method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidA), status: 503, headers: again, want: textNotStored},
			{name: "boot state", method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(uuidA), status: 503, headers: again, want: textNotStored},
		})
	}
}

func TestUnauthenticatedProbe(t *testing.T) {
	s := newSite(t, func(c *Config) { c.AllowUnauthenticatedProbe = true })
	s.boots(uuidA, stranger)
	for _, uuid := range []string{uuidA, uuidB, uuidX} {
		s.run(t, []exchange{
			{name: "register", method: "POST", path: "/register", body: report(uuid), status: 201},
			{name: "boot state", method: "POST", path: "/bootstate", body: booted(uuid), status: 201},
		})
	}
	var attempts []string
	for _, r := range s.reports.registrations {
		attempts = append(attempts, r.Attempt)
	}
	for _, b := range s.reports.states {
		attempts = append(attempts, b.Attempt)
	}
	if diff := cmp.Diff([]string{"attempt-a", "", "", "attempt-a", "", ""}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

// TestFirstReportOfAMachineWithoutUUID: the token says which machine it is, the report
// says its UUID.
func TestFirstReportOfAMachineWithoutUUID(t *testing.T) {
	s := newSite(t, nil)
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/f", MACs: []string{"02:fa:44:00:00:0f"}, Rank: bootview.Current,
		Script: bootview.ExitScript(), Attempt: bootview.Attempt{ID: "attempt-f", Token: "token-of-f", Open: true}, Terms: seenOn})
	s.run(t, []exchange{{name: "register", method: "POST", path: "/probe/token-of-f/register", body: report(uuidX), status: 201}})
	if got := s.reports.registrations[0]; got.SystemUUID != uuidX || got.Attempt != "attempt-f" {
		t.Errorf("stored %s of attempt %s", got.SystemUUID, got.Attempt)
	}
}

// TestAProbeWithoutUUIDAsksByMAC: the boot view knows no UUID, so it says none back, and the agent tells its own.
func TestAProbeWithoutUUIDAsksByMAC(t *testing.T) {
	s := newSite(t, nil)
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/f", MACs: []string{"02:fa:44:00:00:0f"}, Serial: "SN-F", Rank: bootview.Current,
		Script: bootview.ExitScript(), Attempt: bootview.Attempt{ID: "attempt-f", Token: "token-of-f", Open: true}, Terms: seenOn})
	s.do("GET", exchange{path: "/ipxe/?mac=02-fa-44-00-00-0f"})
	for _, asked := range []string{"mac=02-fa-44-00-00-0f", "mac=02-fa-44-00-00-ff&serial=sn-f"} {
		got := s.do("GET", exchange{path: "/probe/" + uuidX + "?" + asked})
		if body := got.Body.String(); got.Code != 200 || !strings.Contains(body, `/probe/token-of-f"`) || !strings.Contains(body, `"serverUUID":""`) {
			t.Errorf("%s: %d %s", asked, got.Code, body)
		}
	}
	s.run(t, []exchange{{name: "another's address", path: "/probe/" + uuidX + "?mac=02-fa-44-00-00-0f", from: addrB, status: 403, want: textForbidden}})
}

// TestTheSecondMachineOfAUUID: it boots by the UUID of the first, and is given what is its own by its MAC address.
func TestTheSecondMachineOfAUUID(t *testing.T) {
	s := newSite(t, nil)
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/f", MACs: []string{"02:fa:44:00:00:0f"}, Rank: bootview.Current,
		Script: bootview.ExitScript(), Attempt: bootview.Attempt{ID: "attempt-f", Token: "token-of-f", Open: true}, Terms: seenOn})
	first, own := s.do("GET", exchange{path: "/ipxe/" + uuidA}).Body.String(), string(bootview.ExitScript().AppendTo(nil, ""))
	for query, want := range map[string]string{"": first, "?mac=02-fa-44-00-00-0a&serial=SN-A": first, "?mac=02-fa-44-00-00-fe&serial=SN-F": first, "?mac=02-fa-44-00-00-0f&serial=SN-F": own} {
		if got := s.do("GET", exchange{path: "/ipxe/" + uuidA + query}); got.Code != 200 || got.Body.String() != want {
			t.Errorf("%q: %d %s, want %s", query, got.Code, got.Body, want)
		}
	}
	if got := s.do("GET", exchange{path: "/probe/" + uuidA + "?mac=02-fa-44-00-00-0f"}).Body.String(); !strings.Contains(got, `/probe/token-of-f"`) {
		t.Errorf("it reports to %s", got)
	}
}

// cleaner is a machine in Cleanup.
func cleaner(s site) {
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/g", UUID: uuidX, Rank: bootview.Current, Script: bootview.ExitScript(),
		Attempt: bootview.Attempt{ID: "attempt-g", Token: "token-of-g", Open: true, Clean: "full"}, Terms: seenOn})
}

// TestWhoIsToldToClean: the holder of the token of an attempt that is for cleaning, which says that it can, and has
// not done so.
func TestWhoIsToldToClean(t *testing.T) {
	const order = `{"cleanup":{"mode":"full"}}`
	able := func(uuid, rest string) string {
		return `{"systemUUID":"` + uuid + `","data":{"capabilities":["clean-metadata","clean-full"]` + rest + `}}`
	}
	s := newSite(t, nil)
	cleaner(s)
	s.boots(uuidA, stranger)
	s.run(t, []exchange{
		{name: "able", method: "POST", path: "/probe/token-of-g/register", body: able(uuidX, ""), status: 201, want: order,
			headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}},
		{name: "able, once more", method: "POST", path: "/probe/token-of-g/register", body: able(uuidX, ""), status: 201, want: order},
		{name: "an old agent", method: "POST", path: "/probe/token-of-g/register", body: report(uuidX), status: 201},
		{name: "not able enough", method: "POST", path: "/probe/token-of-g/register", body: `{"systemUUID":"` + uuidX + `","data":{"capabilities":["clean-metadata"]}}`, status: 201},
		{name: "has done it", method: "POST", path: "/probe/token-of-g/register", body: able(uuidX, `,"cleanup":[{"path":"/dev/sda","result":"ok"}]`), status: 201},
		{name: "has done it, without disks", method: "POST", path: "/probe/token-of-g/register", body: able(uuidX, `,"cleanup":[]`), status: 201},
		{name: "another machine", method: "POST", path: "/probe/token-of-g/register", body: able(uuidA, ""), status: 401, want: textUnauthorized},
		{name: "in discovery", method: "POST", path: "/probe/" + tokenA + "/register", body: able(uuidA, ""), status: 201},
	})
	away := newSite(t, nil)
	cleaner(away)
	away.reports.err = errors.New("not in Cleanup")
	away.run(t, []exchange{{name: "not stored", method: "POST", path: "/probe/token-of-g/register", body: able(uuidX, ""), status: 503, want: textNotStored}})
}

// TestACleanupNeedsAToken: also where other reports need none.
func TestACleanupNeedsAToken(t *testing.T) {
	s := newSite(t, func(c *Config) { c.AllowUnauthenticatedProbe = true })
	cleaner(s)
	s.run(t, []exchange{{name: "register", method: "POST", path: "/register", body: report(uuidX), status: 401, want: textUnauthorized}})
	if len(s.reports.registrations) > 0 {
		t.Error("it was stored")
	}
}

// TestAnAgentThatDidNotHearTheAnswerAsksAgain: its report has closed the attempt.
func TestAnAgentThatDidNotHearTheAnswerAsksAgain(t *testing.T) {
	s := newSite(t, nil)
	cleaner(s)
	post := exchange{name: "register", method: "POST", path: "/probe/token-of-g/register", body: report(uuidX), status: 201}
	s.run(t, []exchange{post})
	s.view.Delete("IPXEBootConfig/ns/g")
	s.run(t, []exchange{
		post,
		{name: "for another machine", method: "POST", path: "/probe/token-of-g/register", body: report(uuidA), status: 401, want: textUnauthorized},
	})
	if got := s.reports.registrations; len(got) != 2 || got[1].Attempt != "attempt-g" {
		t.Errorf("asked to store %v", got)
	}
	for i := range maxHeard { // others report
		s.Server.heard.remember(fmt.Sprint(i), sender{})
	}
	post.status, post.want = 401, textUnauthorized
	s.run(t, []exchange{post})
	if n := s.Server.heard.by.Len(); n != maxHeard {
		t.Errorf("%d are remembered", n)
	}
}

// TestAReportThatIsTooLargeForTheRecord: it would be too large the next time, too.
func TestAReportThatIsTooLargeForTheRecord(t *testing.T) {
	s := newSite(t, nil)
	s.boots(uuidA, stranger)
	s.reports.err = fmt.Errorf("store: %w", inspection.ErrTooLarge)
	s.run(t, []exchange{{name: "register", method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidA), status: 413, want: textTooLarge}})
}

func TestProbeAsks(t *testing.T) {
	s := newSite(t, nil)
	s.boots(uuidA, stranger)
	s.run(t, []exchange{
		{name: "open attempt", path: "/probe/" + uuidA, status: 200, headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
			want: `{"registryURL":"http://10.0.0.1:8082/probe/token-of-a","serverUUID":"` + uuidA + `"}`},
		{name: "another machine's address", path: "/probe/" + uuidA, from: addrB, status: 403, want: textForbidden},
		{name: "closed attempt", path: "/probe/" + uuidB, status: 404, want: textNotFound},
		{name: "no attempt", path: "/probe/" + uuidD, status: 404, want: textNotFound},
		{name: "unknown", path: "/probe/" + uuidX, status: 404, want: textNotFound},
		{name: "conflict", path: "/probe/" + uuidC, status: 409, want: textConflict},
	})
}

// What nobody knows is not there; waiting does not help, so nothing is said of trying again.
func TestReportsOfMachinesThatNobodyKnows(t *testing.T) {
	s := newSite(t, func(c *Config) { c.AllowUnauthenticatedProbe = true })
	s.boots(uuidA, stranger)
	s.reports.err = fmt.Errorf("%s: %w", uuidX, inspection.ErrUnknownMachine)
	s.run(t, []exchange{
		{name: "register", method: "POST", path: "/register", body: report(uuidX), status: 404, want: textUnknownMachine},
		{name: "boot state", method: "POST", path: "/bootstate", body: booted(uuidX), status: 404, want: textUnknownMachine},
		{name: "with the token of one that is gone", method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidA), status: 404, want: textUnknownMachine},
	})
}
