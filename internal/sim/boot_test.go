package sim

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func (s *bootSite) bootURL() string { return s.URL + "/ipxe/" }

// orderNetworkBoot does what a BMC does when it is told to boot once from the
// network.
func orderNetworkBoot(t *testing.T, m *Machine) {
	t.Helper()
	m.mu.Lock()
	m.override = BootOverride{Enabled: overrideOnce, Target: BootPXE, Mode: "UEFI"}
	m.mu.Unlock()
	if _, err := m.Reset("On"); err != nil {
		t.Fatal(err)
	}
}

func whats(r BootRecord) []What {
	var out []What
	for _, f := range r.Fetches {
		out = append(out, f.What)
	}
	return out
}

func TestBootInstalled(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	rack := startRack(t, Options{BootURL: site.bootURL})
	m := rack.Machine(0)
	orderNetworkBoot(t, m)
	record := settled(t, m)

	if record.Outcome != OutcomeInstalled || record.Why != "" {
		t.Fatalf("outcome %q: %s", record.Outcome, record.Why)
	}
	want := []What{WhatChainload, WhatScript, WhatKernel, WhatInitramfs, WhatSquashfs, WhatIgnition}
	if diff := cmp.Diff(want, whats(record)); diff != "" {
		t.Errorf("fetches (-want +got):\n%s", diff)
	}
	for what, body := range map[What][]byte{WhatKernel: site.kernel, WhatInitramfs: site.initrd, WhatSquashfs: site.squashfs, WhatIgnition: []byte(plainIgnition)} {
		f, ok := record.Fetched(what)
		if !ok || f.SHA256 != sha256Hex(body) || f.Bytes != int64(len(body)) || f.Status != http.StatusOK || f.Start.IsZero() || f.End.Before(f.Start) {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if diff := cmp.Diff([]string{"booting " + m.UUID()}, record.Console); diff != "" {
		t.Errorf("console (-want +got):\n%s", diff)
	}
	if !strings.Contains(record.CommandLine, "ignition.config.url="+site.URL+"/ignition/"+m.UUID()+"?token=t") {
		t.Errorf("command line %q", record.CommandLine)
	}
	if m.PowerState() != PowerOn {
		t.Errorf("power %s", m.PowerState())
	}
	if o := m.BootOverride(); o.Enabled != overrideDisabled || o.Target != BootNone {
		t.Errorf("the override for one boot is still there: %+v", o)
	}
	if ownAddresses {
		host, _, _ := net.SplitHostPort(site.addresses["/kernel"])
		if host != m.IP().String() {
			t.Errorf("the machine came from %s, not from its own %s", host, m.IP())
		}
	}
}

func TestBootProbe(t *testing.T) {
	site := newBootSite(t)
	site.fail("/probe/t/register", http.StatusServiceUnavailable)
	rack := startRack(t, Options{BootURL: site.bootURL, Seed: 7})
	m := rack.Machine(0)
	site.setIgnition(site.probeIgnition(m.UUID()))
	orderNetworkBoot(t, m)
	record := settled(t, m)
	if record.Outcome != OutcomeProbe || record.Why != "" {
		t.Fatalf("outcome %q: %s", record.Outcome, record.Why)
	}
	reports := site.registrations()
	if len(reports) != 1 || reports[0].SystemUUID != m.UUID() {
		t.Fatalf("reports: %+v", reports)
	}
	want, err := agentHardware{m}.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want.Timestamp, want.AgentVersion = reports[0].Data.Timestamp, "simulated"
	want.Capabilities = []inspection.Capability{inspection.CapabilityCleanMetadata, inspection.CapabilityCleanFull}
	if diff := cmp.Diff(want, reports[0].Data); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if want.NetworkInterfaces[0].MACAddress != m.MAC() || want.NetworkInterfaces[0].CarrierStatus != inspection.CarrierUp || len(want.LLDP) == 0 {
		t.Errorf("report without the boot port and its neighbour: %+v", want)
	}
	registers := slices.DeleteFunc(record.Fetches, func(f Fetch) bool { return f.What != WhatRegister })
	if len(registers) != 2 || registers[0].Status != 503 || registers[0].Error == "" || registers[1].Status != 201 || registers[1].Bytes == 0 {
		t.Errorf("attempts to register: %+v", registers)
	}
}

func TestBootRetries(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	m := startRack(t, Options{BootURL: site.bootURL}).Machine(0)
	site.fail("/ipxe/", 503, 503)
	site.fail("/kernel", 500)
	site.fail("/squashfs", 503)
	site.fail("/ignition/"+m.UUID(), 503)
	orderNetworkBoot(t, m)
	record := settled(t, m)
	if record.Outcome != OutcomeInstalled {
		t.Fatalf("outcome %q: %s", record.Outcome, record.Why)
	}
	want := []What{
		WhatChainload, WhatChainload, WhatChainload, WhatScript, WhatKernel, WhatKernel, WhatInitramfs,
		WhatSquashfs, WhatSquashfs, WhatIgnition, WhatIgnition,
	}
	if diff := cmp.Diff(want, whats(record)); diff != "" {
		t.Errorf("fetches (-want +got):\n%s", diff)
	}
}

func TestBootFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		path     string
		status   int
		ignition string
		want     string
	}{
		"no script":            {path: "/ipxe/UUID", status: 404, want: "iPXE: "},
		"chainload disabled":   {path: "/ipxe/", status: 500, want: "HTTP 500"},
		"squashfs missing":     {path: "/squashfs", status: 404, want: "squashfs: HTTP 404"},
		"ignition refused":     {path: "/ignition/UUID", status: 403, want: "ignition: HTTP 403"},
		"ignition is no JSON":  {ignition: "variant: fcos", want: "ignition: not a configuration"},
		"ignition of old":      {ignition: `{"ignition":{"version":"2.2.0"}}`, want: `ignition.version "2.2.0" is not 3.x`},
		"probe without flags":  {ignition: `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"p","enabled":true,"contents":"ExecStart=metalprobe"}]}}`, want: "unit p: metalprobe"},
		"report is refused":    {path: "/probe/t/register", status: 400, ignition: "probe", want: "probe: register: refused for good: HTTP 400"},
		"probe of another URL": {ignition: strings.ReplaceAll(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"p","enabled":true,"contents":"ExecStart=metalprobe --registry-url=ftp://x --server-uuid=UUID"}]}}`, "\t", ""), want: "probe: registry URL"},
	} {
		t.Run(name, func(t *testing.T) {
			site := newBootSite(t)
			m := startRack(t, Options{BootURL: site.bootURL}).Machine(0)
			site.setIgnition(strings.ReplaceAll(tc.ignition, "UUID", m.UUID()))
			if tc.ignition == "probe" {
				site.setIgnition(site.probeIgnition(m.UUID()))
			}
			site.fail(strings.ReplaceAll(tc.path, "UUID", m.UUID()), tc.status, tc.status, tc.status)
			orderNetworkBoot(t, m)
			record := settled(t, m)
			if record.Outcome != OutcomeFailed || !strings.Contains(record.Why, tc.want) {
				t.Errorf("outcome %q: %q, want %q", record.Outcome, record.Why, tc.want)
			}
			if strings.Contains(record.Why, "token") {
				t.Errorf("the token is shown: %s", record.Why)
			}
			if m.PowerState() != PowerOn {
				t.Errorf("power %s: a machine that cannot boot stays on", m.PowerState())
			}
		})
	}
}

func TestBootSources(t *testing.T) {
	site := newBootSite(t)
	for name, tc := range map[string]struct {
		override BootOverride
		bootURL  func() string
		outcome  Outcome
		fetched  []What
	}{
		"none":          {BootOverride{Enabled: overrideDisabled, Target: BootNone}, site.bootURL, OutcomeFirmware, nil},
		"disk":          {BootOverride{Enabled: overrideOnce, Target: BootDisk}, site.bootURL, OutcomeFirmware, nil},
		"setup":         {BootOverride{Enabled: overrideOnce, Target: BootSetup}, site.bootURL, OutcomeFirmware, nil},
		"no DHCP":       {BootOverride{Enabled: overrideOnce, Target: BootPXE}, nil, OutcomeFailed, nil},
		"nothing there": {BootOverride{Enabled: overrideOnce, Target: BootPXE}, func() string { return "http://127.0.0.1:1/" }, OutcomeFailed, []What{WhatChainload}},
		"HTTP":          {BootOverride{Enabled: overrideOnce, Target: BootUEFIHTTP, HTTPURI: site.URL + "/kernel"}, nil, OutcomeInstalled, []What{WhatUKI}},
		"HTTP, no URI":  {BootOverride{Enabled: overrideOnce, Target: BootUEFIHTTP}, nil, OutcomeFailed, nil},
		"HTTP, 404":     {BootOverride{Enabled: overrideOnce, Target: BootUEFIHTTP, HTTPURI: site.URL + "/nothing"}, nil, OutcomeFailed, []What{WhatUKI}},
	} {
		t.Run(name, func(t *testing.T) {
			m := startRack(t, Options{BootURL: tc.bootURL}).Machine(0)
			m.mu.Lock()
			m.override = tc.override
			m.mu.Unlock()
			if _, err := m.Reset("On"); err != nil {
				t.Fatal(err)
			}
			record := settled(t, m)
			if record.Outcome != tc.outcome {
				t.Errorf("outcome %q: %s", record.Outcome, record.Why)
			}
			if diff := cmp.Diff(tc.fetched, whats(record)); diff != "" {
				t.Errorf("fetches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContinuousOverrideStays(t *testing.T) {
	m := startRack(t, Options{}).Machine(0)
	m.mu.Lock()
	m.override = BootOverride{Enabled: overrideContinuous, Target: BootSetup}
	m.mu.Unlock()
	for range 2 {
		if _, err := m.Reset("On"); err != nil {
			t.Fatal(err)
		}
		if r := settled(t, m); r.Boot.Target != BootSetup {
			t.Errorf("booted %q", r.Boot.Target)
		}
		if _, err := m.Reset("ForceOff"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPowerTakesTime drives one machine through its states with a clock that
// only moves when it is told to.
func TestPowerTakesTime(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	m := startRack(t, Options{
		BootURL: site.bootURL, Clock: clock,
		Timing: Timing{POST: 30 * time.Second, Shutdown: 20 * time.Second, OSBoot: 10 * time.Second},
	}).Machine(0)
	step := func(d time.Duration) {
		t.Helper()
		eventually(t, "somebody waits for the clock", clock.HasWaiters)
		clock.Step(d)
	}
	reset := func(resetType string, want PowerState) {
		t.Helper()
		if _, err := m.Reset(resetType); err != nil {
			t.Fatal(err)
		}
		if got := m.PowerState(); got != want {
			t.Fatalf("after %s: power %s, want %s", resetType, got, want)
		}
	}
	orderNetworkBoot(t, m)
	if m.PowerState() != PoweringOn {
		t.Fatalf("power %s while in self test", m.PowerState())
	}
	step(30 * time.Second)
	step(10 * time.Second)
	if r := settled(t, m); r.Outcome != OutcomeInstalled || r.Settled.Sub(r.Start) != 40*time.Second || r.POST.Sub(r.Start) != 30*time.Second {
		t.Errorf("record %+v", r)
	}
	reset("GracefulShutdown", PoweringOff)
	if changed, err := m.Reset("GracefulShutdown"); changed || err != nil {
		t.Errorf("a second shutdown: %t, %v", changed, err)
	}
	if _, err := m.Reset("On"); err == nil {
		t.Error("power-on while powering off is accepted")
	}
	step(20 * time.Second)
	eventually(t, "it is off", func() bool { return m.PowerState() == PowerOff })
	if r := m.Record()[0]; r.End.Sub(r.Start) != time.Minute {
		t.Errorf("record ends %s after its start", r.End.Sub(r.Start))
	}

	reset("On", PoweringOn)
	reset("ForceOff", PowerOff)
	if r := m.Record()[1]; r.Outcome != OutcomeInterrupted {
		t.Errorf("outcome %q of a boot that was cut off", r.Outcome)
	}
	want := map[string]int{"On": 3, "GracefulShutdown": 2, "ForceOff": 1}
	if diff := cmp.Diff(want, m.Resets()); diff != "" {
		t.Errorf("resets (-want +got):\n%s", diff)
	}
}

func TestGracefulRestart(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	m := startRack(t, Options{BootURL: site.bootURL}).Machine(0)
	orderNetworkBoot(t, m)
	settled(t, m)
	if _, err := m.Reset("GracefulRestart"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second boot", func() bool { return len(m.Record()) == 2 })
	if r := settled(t, m); r.Outcome != OutcomeFirmware {
		t.Errorf("outcome %q: the override was for one boot", r.Outcome)
	}
}

func TestShutdownThatNeverHappens(t *testing.T) {
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	m := startRack(t, Options{BootURL: site.bootURL, Timing: Timing{Shutdown: -1}}).Machine(0)
	orderNetworkBoot(t, m)
	settled(t, m)
	if _, err := m.Reset("GracefulShutdown"); err != nil || m.PowerState() != PoweringOff {
		t.Fatalf("power %s, %v", m.PowerState(), err)
	}
	if _, err := m.Reset("ForceOff"); err != nil || m.PowerState() != PowerOff {
		t.Errorf("power %s, %v", m.PowerState(), err)
	}
}

func TestDecideReset(t *testing.T) {
	for _, tc := range []struct {
		power  PowerState
		osRuns bool
		reset  string
		want   action
	}{
		{PowerOff, false, "On", start},
		{PowerOff, false, "ForceOff", nothing},
		{PowerOff, false, "GracefulRestart", refuse},
		{PowerOff, false, "PushPowerButton", start},
		{PoweringOn, false, "On", nothing},
		{PoweringOn, false, "GracefulShutdown", stop},
		{PowerOn, true, "GracefulShutdown", shutdown},
		{PowerOn, false, "GracefulShutdown", stop},
		{PowerOn, true, "PushPowerButton", shutdown},
		{PowerOn, true, "GracefulRestart", shutdownAndStart},
		{PowerOn, true, "PowerCycle", restart},
		{PowerOn, true, "ForceOn", nothing},
		{PoweringOff, true, "On", refuse},
		{PoweringOff, true, "ForceOff", stop},
		{PoweringOff, true, "ForceRestart", restart},
	} {
		if got := decideReset(tc.power, tc.osRuns, tc.reset); got != tc.want {
			t.Errorf("%s while %s (OS %t): action %d, want %d", tc.reset, tc.power, tc.osRuns, got, tc.want)
		}
	}
}

func TestParseAgent(t *testing.T) {
	want := agentFlags{registryURL: "http://b/probe/a%20b", serverUUID: "u", duration: time.Second}
	for _, command := range []string{
		"/usr/local/bin/metalprobe --registry-url=http://b/probe/a%%20b --server-uuid=u --duration=1s",
		"metalprobe -registry-url http://b/probe/a%%20b --server-uuid u --duration 1s",
		`/usr/bin/docker run --rm --network host --name=probe registry.example/metalprobe:v1 --registry-url="http://b/probe/a%%20b" --server-uuid='u' --duration=1s`,
	} {
		got, ok, err := parseAgent(command)
		if err != nil || !ok || got != want {
			t.Errorf("%s: %+v, %t, %v", command, got, ok, err)
		}
	}
	for _, command := range []string{"/bin/true", "/usr/bin/notmetalprobe --registry-url=a --server-uuid=b"} {
		if _, ok, err := parseAgent(command); ok || err != nil {
			t.Errorf("%s: %t, %v", command, ok, err)
		}
	}
}

// Files that an agent's flags name are read as Ignition writes them, whatever Butane made of their content.
func TestAgentTrusts(t *testing.T) {
	const unit = `"systemd":{"units":[{"name":"p","enabled":true,"contents":"ExecStart=metalprobe --registry-url=https://b/t --registry-ca-file=/ca"}]}`
	for name, c := range map[string]struct{ file, want string }{
		"text":       {`{"path":"/ca","contents":{"source":"data:,a%0Ab%2Bc"}}`, "a\nb+c"},
		"base64":     {`{"path":"/ca","contents":{"source":"data:;base64,YStiCg=="}}`, "a+b\n"},
		"compressed": {`{"path":"/ca","contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAC/0vUTuICAEAG2CEEAAAA"}}`, "a+b\n"},
		"elsewhere":  {`{"path":"/other","contents":{"source":"data:,x"}}`, ""},
		"no data":    {`{"path":"/ca","contents":{"source":"https://b/ca"}}`, ""},
	} {
		got, err := parseIgnition([]byte(`{"ignition":{"version":"3.3.0"},"storage":{"files":[` + c.file + `]},` + unit + `}`))
		if (err == nil) != (c.want != "") || string(got.probeCA) != c.want {
			t.Errorf("%s: %q, %v", name, got.probeCA, err)
		}
	}
}

func FuzzParseIgnition(f *testing.F) {
	f.Add(plainIgnition)
	f.Add(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"enabled":true,"contents":"ExecStart=-metalprobe --registry-url"}]}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parseIgnition([]byte(text))
	})
}
