package sim

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const soon = 10 * time.Millisecond // between two rounds of the boot order

// fails answers the first n requests of a path so that the machine gives up.
func (s *bootSite) fails(path string, n int) {
	statuses := make([]int, n)
	for i := range statuses {
		statuses[i] = http.StatusInternalServerError
	}
	s.fail(path, statuses...)
}

// sequence boots a machine once from the network and returns when its firmware has given up or something runs.
func sequence(t *testing.T, m *Machine) BootRecord {
	t.Helper()
	m.mu.Lock()
	e := m.beginLocked()
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), m.rack.opts.BootTimeout)
	defer cancel()
	n := m.network(e)
	defer n.close()
	outcome, why := n.bootSequence(ctx, BootOverride{Enabled: overrideOnce, Target: BootPXE, Mode: "UEFI"})
	m.settle(e, outcome, why)
	return m.Record()[0]
}

// TestFirmwareTriesItsBootOrderAgain: the override is for one boot, and the boot order begins with the network.
func TestFirmwareTriesItsBootOrderAgain(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	site.fails("/ipxe/", 3)
	m := startRack(t, Options{BootURL: site.bootURL, Timing: Timing{BootRetry: soon}}).Machine(0)
	record := sequence(t, m)
	if record.Outcome != OutcomeInstalled || record.Retries != 3 || record.Why != "" {
		t.Errorf("%s after %d retries: %s", record.Outcome, record.Retries, record.Why)
	}
	if record.Settled.Before(record.Kernel) {
		t.Errorf("settled %s, kernel %s", record.Settled, record.Kernel)
	}
}

// TestFirmwareGivesUp: when its time is up, at a prompt, and at once where its vendor's does.
func TestFirmwareGivesUp(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		script  string // that DHCP names
		most    int
		outcome Outcome
	}{
		"time is up":        {Options{BootTimeout: 5 * soon, Timing: Timing{BootRetry: soon}}, "", 5, OutcomeFailed},
		"it does not retry": {Options{}, "", 0, OutcomeFailed},
		"nor of this make":  {Options{Vendors: []Vendor{Supermicro}, Timing: Timing{BootRetry: soon}}, "", 0, OutcomeFailed},
		"nor at a prompt":   {Options{Timing: Timing{BootRetry: soon}}, "shell", 0, OutcomeFirmware},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.script == "" {
					w.WriteHeader(http.StatusInternalServerError)
				}
				_, _ = io.WriteString(w, "#!ipxe\n"+tc.script)
			}))
			defer server.Close()
			tc.options.BootURL = func() string { return server.URL }
			record := sequence(t, startRack(t, tc.options).Machine(0))
			if record.Outcome != tc.outcome || record.Retries > tc.most || tc.most > 0 && record.Retries == 0 {
				t.Errorf("%s after %d retries, want %s after %d: %s", record.Outcome, record.Retries, tc.outcome, tc.most, record.Why)
			}
		})
	}
}

// TestTheBootOrderIsFollowed: what is installed boots where the disk is named, and nothing else is tried.
func TestTheBootOrderIsFollowed(t *testing.T) {
	site := newBootSite(t)
	site.fails("/ipxe/", 1000)
	m := startRack(t, Options{BootURL: site.bootURL, Timing: Timing{BootRetry: soon}}).Machine(0)
	m.Disks()[0].install(true, bootsFromDisk)
	m.mu.Lock()
	m.bootOrder = []string{bootReference(m.ports), "Boot9999"}
	m.mu.Unlock()
	record := sequence(t, m)
	if diff := cmp.Diff([]What{WhatChainload}, whats(record)); diff != "" || record.Outcome != OutcomeInstalled || record.Why != "from disk" {
		t.Errorf("%s: %s; asked for (-want +got)\n%s", record.Outcome, record.Why, diff)
	}
}
