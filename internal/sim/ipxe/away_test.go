package ipxe

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// away is a boot server that gives its chainload script once and then is away for some requests.
type away struct {
	site
	requests, first, last int // the requests of those numbers are refused
}

func (a *away) Fetch(ctx context.Context, url string, role Role) (File, error) {
	a.requests++
	if a.requests >= a.first && a.requests <= a.last {
		return File{}, errors.New("connection refused")
	}
	return a.site.Fetch(ctx, url, role)
}

// TestChainloadWaitsForABootServer runs the chainload script that Farrier serves.
func TestChainloadWaitsForABootServer(t *testing.T) {
	text, err := os.ReadFile("../../bootview/testdata/chainload.ipxe")
	if err != nil {
		t.Fatal(err)
	}
	const (
		base = "http://10.0.0.1:8082/ipxe"
		own  = base + "/4c4c4544-0043-3510-8052-b7c04f4e4d32?mac=02-fa-45-00-00-0a&serial=SN%201%2F2"
		boot = "#!ipxe\nkernel /k\nboot"
	)
	for name, tc := range map[string]struct {
		script string // of the machine
		last   int    // request that is refused
		pauses int
		booted bool
	}{
		"it is there":                    {script: boot, last: 0, booted: true},
		"it is away for a moment":        {script: boot, last: 2, booted: true},
		"it is away for three rounds":    {script: boot, last: 7, pauses: 3, booted: true},
		"it comes back with its base":    {script: boot, last: 8, pauses: 3, booted: true},
		"it is away for all of the time": {script: boot, last: 47, pauses: 23, booted: true},
		"and for longer":                 {script: boot, last: 1000, pauses: 23},
		"it knows no such machine":       {script: "404", last: 0},
		"and neither after a while":      {script: "404", last: 7, pauses: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := &away{site: site{start: {string(text)}, base: {string(text)}, own: {tc.script}, "http://10.0.0.1:8082/k": {"binary"}}, first: 2, last: tc.last}
			var pauses int
			result, err := Run(t.Context(), Options{
				Fetcher: s, Clock: newSteppingClock(), Settings: withPort(machine()),
				Trace: func(line string) { pauses += strings.Count(line, "  sleep 5s") },
			}, start)
			if pauses != tc.pauses || (result.Outcome == Booted) != tc.booted || tc.booted == (err != nil) {
				t.Errorf("%q after %d pauses, want %v after %d: %v", result.Outcome, pauses, tc.booted, tc.pauses, err)
			}
			if diff := cmp.Diff(0, len(result.Initrds)); diff != "" {
				t.Errorf("what told that the server is there is an initramfs: %v", result.Initrds)
			}
		})
	}
}

func withPort(s Settings) Settings {
	s["netX/mac"] = s["mac"]
	return s
}
