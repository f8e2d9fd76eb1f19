package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// neverStruck is the first BMC that no fault strikes. There are as many before it as there are troubles, or more.
const neverStruck = 40

// few are the faults that strike at a time at first. Those that are waited for longest, for a request to time out, are beside one another.
const few = 10

// TestRack is one rack, one fleet and one API for everything.
func TestRack(t *testing.T) {
	s := newStand(t)
	s.inventoried(t)
	if len(troubles) > neverStruck {
		t.Fatalf("%d troubles: too many for one rack", len(troubles))
	}
	for _, k := range fault.Kinds() {
		if !covered(k.Kind) && !ofMachine[k.Kind] {
			t.Errorf("fault %s strikes nobody here", k.Kind)
		}
	}
	// Vendors take turns in the rack, and so do faults in vendors.
	for from := 0; from < len(troubles); from += few {
		struck := map[int]trouble{}
		for i := from; i < min(from+few, len(troubles)); i++ {
			struck[i] = troubles[i]
		}
		t.Run(fmt.Sprintf("few/%d", from/few+1), func(t *testing.T) { s.strike(t, struck) })
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2 {
		t.Run(fmt.Sprintf("together/%d", round+1), func(t *testing.T) {
			struck := map[int]trouble{}
			for n, i := range random.Perm(len(troubles)) {
				struck[i] = troubles[n]
			}
			s.strike(t, struck)
		})
	}
	s.thrifty(t)
	t.Run("credentials", s.changeCredentials)
	t.Run("secrecy", s.searchEverything)
}

// ofMachine are faults of what stands behind a BMC or of its serial console, and no business of this package.
var ofMachine = map[fault.Kind]bool{
	fault.SettingsRefused: true, fault.SettingsIgnored: true,
	fault.DiskFails: true, fault.OldProbe: true, fault.SilentProbe: true, fault.KernelPanic: true, fault.OverrideIgnored: true,
	fault.ConsoleHang: true, fault.ConsoleRefuse: true, fault.NoConsole: true,
	fault.BadUpdate: true, fault.SlowReset: true, // internal/controller/firmwareversion
	fault.AccountTableFull: true, fault.PasswordExpiry: true, fault.PasswordsRefused: true, // internal/controller/bmcuser
}

func covered(k fault.Kind) bool {
	for _, trouble := range troubles {
		if trouble.kind == k {
			return true
		}
	}
	return false
}

// strike lets BMCs be struck at the same time, and checks what each says, what becomes of the others, and
// that all are well afterwards. BMCs from neverStruck on are not.
func (s *stand) strike(t *testing.T, struck map[int]trouble) {
	t.Helper()
	var ill []int
	for i, trouble := range struck {
		ill = append(ill, i)
		if trouble.first != nil {
			trouble.first(t, s, i)
		}
	}
	t.Cleanup(func() { s.ClearFaults() })
	from := s.schedule()
	ids := map[int]string{}
	for i, trouble := range struck {
		e, err := s.InjectFault(fault.Spec{Kind: trouble.kind, BMCs: []int{i + 1}, Value: trouble.value})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = e.ID
	}
	for i, trouble := range struck {
		if trouble.noticed != nil {
			trouble.noticed(t, s, i)
		}
	}
	for i, trouble := range struck {
		if trouble.says.of != "" {
			s.says(t, i, trouble.says)
		}
	}
	s.keptSince(t, from, others(ill...))
	for i, trouble := range struck {
		if trouble.says.of == "" {
			s.keptSince(t, from, []int{i}) // and is asked like any other
		}
	}
	failures := map[int]int{}
	for i := range struck {
		if err := s.ClearFault(ids[i]); err != nil {
			t.Error(err)
		}
		o, _ := s.fleet.Observe(s.key(i))
		failures[i] = o.Failures
	}
	s.recovers(t, failures)
	for i, trouble := range struck {
		if trouble.after != nil {
			trouble.after(t, s, i)
		}
	}
	s.ready(t, others()...)
}

// recovers waits until BMCs are well again. What was under way when a fault ended may still fail; the attempt
// after that, at the end of the step of the back-off that it began, does not. A busy machine may have an attempt
// or two miss its deadline all the same; a BMC that stays ill fails more often than that.
func (s *stand) recovers(t *testing.T, failures map[int]int) {
	t.Helper()
	until(t, "recovery", func() string {
		for i, before := range failures {
			o, _ := s.fleet.Observe(s.key(i))
			if o.Err == nil {
				continue
			}
			if o.Failures > before+1+slack {
				t.Fatalf("%s goes on failing when its fault is over: %v", s.names[i], o.Err)
			}
			return fmt.Sprintf("%s: %v", s.names[i], o.Err)
		}
		return ""
	})
}

// thrifty checks what the BMCs counted over all of it.
func (s *stand) thrifty(t *testing.T) {
	t.Helper()
	for i := range bmcs {
		got := s.Stats(i)
		if got.MaxConnections > 1 || got.MaxRequests > 1 {
			t.Errorf("%s: %d connections and %d requests at a time", s.names[i], got.MaxConnections, got.MaxRequests)
		}
		if i >= neverStruck && (got.Logins != 1 || got.BasicLogins != 0 || got.Refused != 0) {
			t.Errorf("%s was never struck, and has seen %d logins, %d with Basic, %d refused", s.names[i], got.Logins, got.BasicLogins, got.Refused)
		}
	}
}
