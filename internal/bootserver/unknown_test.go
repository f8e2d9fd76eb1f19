package bootserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// TestAMachineThatNobodyKnowsIsSaid once in the log, however often it asks; one that something is given to is not, nor one that is only early.
func TestAMachineThatNobodyKnowsIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		path, says string // empty: nothing
		change     func(*Config)
	}{
		"by its UUID":             {path: "/ipxe/" + uuidX, says: `"systemUUID"="` + uuidX + `"`},
		"by its MAC address":      {path: "/ipxe/?mac=02:fa:44:ff:ff:ff&serial=S", says: `"mac"="02:fa:44:ff:ff:ff" "serial"="S"`},
		"for its ignition":        {path: "/ignition/" + uuidX, says: uuidX},
		"a probe":                 {path: "/probe/" + uuidX, says: uuidX},
		"by labels":               {path: "/ipxe?uuid=" + strings.ToUpper(uuidX) + "&serial=S", says: `"systemUUID"="` + uuidX + `"`},
		"by labels, to be told":   {path: "/ipxe?uuid=" + uuidX, says: uuidX, change: func(c *Config) { c.NoAssignment = http.StatusNotFound }},
		"by labels, all disabled": {path: "/ipxe?uuid=" + uuidX, says: uuidX, change: func(c *Config) { c.Profiles = nil }},
		"without a default image": {path: "/httpboot", says: stranger, change: func(c *Config) { c.DefaultUKI = nil }},
		"with a default image":    {path: "/httpboot"},
		"one that is known":       {path: "/ipxe/" + uuidA},
		"one that is assigned":    {path: "/ipxe?uuid=" + uuidS},
		"one in conflict":         {path: "/ipxe/" + uuidC},
		"before all is known":     {path: "/ipxe/" + uuidX, change: func(c *Config) { c.View.SetSynced(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			s := newSite(t, func(cfg *Config) {
				cfg.Profiles = profiles(t, nil)
				cfg.Logger = funcr.New(func(_, line string) { said = append(said, line) }, funcr.Options{})
				if c.change != nil {
					c.change(cfg)
				}
			})
			said = nil
			for range 3 {
				ask(s, stranger+":1", c.path)
			}
			if c.says == "" && len(said) > 0 || c.says != "" && (len(said) != 1 || !strings.Contains(said[0], c.says) || !strings.Contains(said[0], stranger)) {
				t.Errorf("said %q, want one line with %q", said, c.says)
			}
		})
	}
}

// TestAFloodOfUnknownMachinesIsNotAFloodOfLines, and for how many there was none is said when there is room again.
func TestAFloodOfUnknownMachinesIsNotAFloodOfLines(t *testing.T) {
	var said []string
	clock := clocktesting.NewFakePassiveClock(now)
	s := newSite(t, func(cfg *Config) {
		cfg.Clock = clock
		cfg.Logger = funcr.New(func(_, line string) { said = append(said, line) }, funcr.Options{})
	})
	said = nil
	for i := range 1000 { // of many hosts
		ask(s, fmt.Sprintf("10.1.%d.%d:1", i/250, i%250), fmt.Sprintf("/ipxe/4c4c4544-0043-3510-8052-%012x", i))
	}
	if len(said) != linesAMinute {
		t.Errorf("%d lines", len(said))
	}
	clock.SetTime(now.Add(time.Minute))
	ask(s, "10.2.0.1:1", "/ipxe/"+uuidX)
	if last := said[len(said)-1]; len(said) != linesAMinute+1 || !strings.Contains(last, `"suppressed"=990`) {
		t.Errorf("%d lines, the last is %s", len(said), last)
	}
}

// TestUnknownMachinesAreListed until there is something for them.
func TestUnknownMachinesAreListed(t *testing.T) {
	clock, unknown, assigned := clocktesting.NewFakePassiveClock(now), &bootview.UnknownMachines{}, profiles(t, nil)
	s := newSite(t, func(cfg *Config) { cfg.Clock, cfg.Unknown, cfg.Profiles = clock, unknown, assigned })
	var history bootview.History
	handler := Unknown(UnknownNow(s.view, assigned, unknown, &history, clock))
	list := func() (found []bootview.UnknownMachine) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/unknown", nil))
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || w.Code != http.StatusOK || found == nil {
			t.Fatalf("%d %q: %v", w.Code, w.Body, err)
		}
		return found
	}
	if found := list(); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
	ask(s, stranger+":1", "/ipxe/"+uuidX)
	clock.SetTime(now.Add(time.Minute))
	ask(s, "10.0.0.98:1", "/ipxe?mac=02:fa:44:ff:ff:ff")
	ask(s, stranger+":1", "/ipxe/"+uuidX+"?mac=")
	found := list()
	if len(found) != 2 || found[0].MAC != "02:fa:44:ff:ff:ff" || found[1].UUID != uuidX || found[1].Times != 2 || !found[1].First.Equal(now) {
		t.Errorf("%+v", found)
	}
	// What was given before, was refused, or boots nothing by itself, leaves a machine in the list.
	history.Record(Delivery{Kind: Chainload, UUID: uuidX, Time: now.Add(2 * time.Minute), Status: http.StatusOK})
	history.Record(Delivery{Kind: Script, UUID: uuidX, Time: now, Status: http.StatusOK})
	history.Record(Delivery{Kind: Script, UUID: uuidX, Time: now.Add(2 * time.Minute), Status: http.StatusServiceUnavailable})
	if found := list(); len(found) != 2 {
		t.Errorf("%+v", found)
	}
	history.Record(Delivery{Kind: Script, UUID: uuidX, Time: now.Add(2 * time.Minute), Status: http.StatusOK}) // by a label that only it reports
	if found := list(); len(found) != 1 || found[0].UUID == uuidX {
		t.Errorf("%+v", found)
	}
	history = bootview.History{}
	s.view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/new", UUID: uuidX, Rank: bootview.HandWritten, Script: bootview.ExitScript()})
	assigned.Put(&assignment.Assignment{
		Namespace: "ns", Name: "new", Selector: assignment.NewSelector(map[string]string{"mac": "02fa44ffffff"}, nil), Profile: "shell",
	})
	if found := list(); len(found) != 0 {
		t.Errorf("there is something for %+v", found)
	}
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/unknown", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
