package fleet_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// causes are what a fault that is there from the start makes of a BMC; "": it can be looked after
// all the same.
var causes = map[fault.Kind]bmc.Kind{
	fault.Latency:          "",
	fault.Hang:             bmc.KindTimeout,
	fault.HangBody:         bmc.KindTimeout,
	fault.Reset:            bmc.KindConnection,
	fault.Unauthorized:     bmc.KindAuthentication,
	fault.Forbidden:        bmc.KindAuthentication, // the login already: accounts lock
	fault.TooManyRequests:  bmc.KindServer,
	fault.ServerError:      bmc.KindServer,
	fault.Unavailable:      bmc.KindServer,
	fault.WrongJSON:        bmc.KindProtocol,
	fault.TruncatedJSON:    bmc.KindProtocol,
	fault.SessionLoss:      "",
	fault.SessionTableFull: bmc.KindServer,
	fault.NoSessions:       "",
	fault.SessionsRefused:  "",
	fault.NoToken:          "",
	fault.AccountLocked:    bmc.KindAuthentication,
	fault.AccountTableFull: "",
	fault.PasswordExpiry:   bmc.KindAuthentication,
	fault.PasswordsRefused: "",
	fault.ClockSkew:        "",
	fault.SlowPOST:         "",
	fault.IgnoreShutdown:   "",
	fault.PowerLies:        "",
	fault.NoUUID:           "",
	fault.NoPowerState:     "",
	fault.NoBootTarget:     "",
	fault.FewBootTargets:   "",
	fault.OverrideIgnored:  "",
	fault.NoStorage:        "",
	fault.MemberError:      "",
	fault.ExpandLies:       "",
	fault.DropEvents:       "",
	fault.SettingsRefused:  "",
	fault.SettingsIgnored:  "",
	fault.DiskFails:        "",
	fault.OldProbe:         "",
	fault.SilentProbe:      "",
	fault.KernelPanic:      "",
	fault.ConsoleHang:      "",
	fault.ConsoleRefuse:    "",
	fault.NoConsole:        "",
	fault.BadUpdate:        "",
	fault.SlowReset:        "",
}

// Every fault there is, all at once, each at a BMC of its own in a rack of fifty: the others do
// not notice, each of the struck ones says what is wrong, and recovers when nothing is.
func TestEveryFault(t *testing.T) {
	o := sim.Options{Servers: 50, Username: "admin", Password: marker, Seed: 1, BootURL: func() string { return "http://127.0.0.1:1/ipxe/" }}
	var struck []fault.Kind
	for _, info := range fault.Kinds() {
		if info.Kind == fault.TLSFailure {
			continue // this rack speaks http
		}
		if _, ok := causes[info.Kind]; !ok {
			t.Errorf("fault %s: what is it to lead to?", info.Kind)
		}
		struck = append(struck, info.Kind)
		value := info.Default
		if info.Kind == fault.Latency {
			value = "50ms"
		}
		o.Faults = append(o.Faults, fault.Spec{Kind: info.Kind, BMCs: []int{len(struck)}, Value: value})
	}
	r, err := sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.WithoutCancel(t.Context())) })
	options := quick
	options.RequestTimeout, options.AuthBackoff = 4*time.Second, time.Second
	f := run(t, options)
	keys := f.meet(r)
	for i, key := range keys[len(struck):] {
		f.until(key, "first look at a healthy one", known)
		if s := r.Stats(len(struck) + i); s.Logins != 1 || s.MaxRequests != 1 || s.MaxConnections != 1 {
			t.Errorf("healthy BMC %d: %+v", i, s)
		}
	}
	for i, kind := range struck {
		o := f.until(keys[i], string(kind), func(o fleet.Observation) bool {
			return causes[kind] == "" && o.Err == nil && o.Sequence > 0 || causes[kind] != "" && bmc.KindOf(o.Err) == causes[kind]
		})
		if o.Err != nil && (o.ErrSince.IsZero() || o.Circuit == fleet.CircuitClosed) {
			t.Errorf("%s: %+v", kind, o)
		}
	}
	f.laps(keys[len(struck):], 5)
	for i, key := range keys[len(struck):] {
		if o, _ := f.Observe(key); o.Err != nil {
			t.Errorf("healthy BMC %d: %v", i, o.Err)
		}
	}
	for _, e := range r.Faults() {
		if err := r.ClearFault(e.ID); err != nil {
			t.Error(err)
		}
	}
	for i, kind := range struck {
		f.until(keys[i], "recovery from "+string(kind), func(o fleet.Observation) bool {
			return o.Err == nil && o.Circuit == fleet.CircuitClosed && o.Sequence > 0
		})
	}
	for _, kind := range []fault.Kind{fault.NoSessions, fault.SessionsRefused, fault.NoToken} {
		if s := r.Stats(slices.Index(struck, kind)); s.BasicLogins == 0 {
			t.Errorf("%s, and no Basic authentication", kind)
		}
	}
}
