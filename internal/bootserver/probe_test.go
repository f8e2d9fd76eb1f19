package bootserver

import (
	"errors"
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
		s.run(t, []exchange{
			{name: "register", method: "POST", path: "/probe/" + tokenA + "/register", body: report(uuidA), status: 503, headers: again, want: textNotStored},
			{name: "boot state", method: "POST", path: "/probe/" + tokenA + "/bootstate", body: booted(uuidA), status: 503, headers: again, want: textNotStored},
		})
	}
}

func TestUnauthenticatedProbe(t *testing.T) {
	s := newSite(t, func(c *Config) { c.AllowUnauthenticatedProbe = true })
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
		Script: bootview.ExitScript(), Attempt: bootview.Attempt{ID: "attempt-f", Token: "token-of-f", Open: true}})
	s.run(t, []exchange{{name: "register", method: "POST", path: "/probe/token-of-f/register", body: report(uuidX), status: 201}})
	if got := s.reports.registrations[0]; got.SystemUUID != uuidX || got.Attempt != "attempt-f" {
		t.Errorf("stored %s of attempt %s", got.SystemUUID, got.Attempt)
	}
}

func TestProbeAsks(t *testing.T) {
	s := newSite(t, nil)
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
