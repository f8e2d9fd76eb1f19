package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// TestHowLongABootIsAwaited says when the boot of the probe is ordered again, of one that has started 20 minutes ago.
func TestHowLongABootIsAwaited(t *testing.T) {
	const (
		script, kernel = metalv1.ConditionIPXEScriptFetched, bootv1.ConditionKernelFetched
		uki, system    = bootv1.ConditionUKIFetched, metalv1.ConditionIgnitionDataFetched
	)
	began := now.Add(-20 * time.Minute)
	number := func(n int) func(*View) { return func(v *View) { v.Attempt.Number = n } }
	answering := func(ago time.Duration) func(*View) { return func(v *View) { v.Answering = now.Add(-ago) } }
	within := func(d time.Duration) func(*View) { return func(v *View) { v.Policy.DiscoveryTimeout = d } }
	const never = time.Duration(-1)
	for name, tc := range map[string]struct {
		change []func(*View)
		after  time.Duration // its start
	}{
		"nothing was fetched":                  {nil, 15 * time.Minute},
		"the script of another boot was":       {[]func(*View){told(script, "b", time.Minute)}, 15 * time.Minute},
		"the script was":                       {[]func(*View){told(script, "a", 18*time.Minute)}, 12 * time.Minute},
		"the script was, before it was seen":   {[]func(*View){told(script, "a", 21*time.Minute)}, 10 * time.Minute},
		"the kernel was":                       {[]func(*View){told(script, "a", 18*time.Minute), told(kernel, "a", 13*time.Minute)}, 17 * time.Minute},
		"a UKI was":                            {[]func(*View){told(uki, "a", 13*time.Minute)}, 17 * time.Minute},
		"ignition was":                         {[]func(*View){told(script, "a", 18*time.Minute), told(system, "a", 17*time.Minute)}, never},
		"a short timeout":                      {[]func(*View){within(10 * time.Minute)}, 5 * time.Minute},
		"the second boot has twice as long":    {[]func(*View){number(2)}, 30 * time.Minute},
		"the last boot has all of the time":    {[]func(*View){number(mostBoots)}, never},
		"somebody else delivers":               {[]func(*View){func(v *View) { v.Policy.ForeignBoot = true }}, never},
		"nobody has seen it on":                {[]func(*View){func(v *View) { v.Attempt.Started = nil }}, never},
		"nobody answers yet":                   {[]func(*View){answering(now.Sub(time.Time{}))}, 15 * time.Minute},
		"somebody has answered from before":    {[]func(*View){answering(21 * time.Minute)}, 15 * time.Minute},
		"nobody answered when it booted":       {[]func(*View){answering(19 * time.Minute)}, 6 * time.Minute},
		"nor when it loaded its kernel":        {[]func(*View){told(script, "a", 19*time.Minute), answering(18 * time.Minute)}, 7 * time.Minute},
		"it was heard after that":              {[]func(*View){told(script, "a", 17*time.Minute), answering(18 * time.Minute)}, 13 * time.Minute},
		"it runs, and nobody answered":         {[]func(*View){told(system, "a", 19*time.Minute), answering(18 * time.Minute)}, never},
		"nobody answered the second boot":      {[]func(*View){number(2), answering(19 * time.Minute)}, 11 * time.Minute},
		"nobody answered the last boot":        {[]func(*View){number(mostBoots), answering(19 * time.Minute)}, never},
		"nobody answered, long after the boot": {[]func(*View){answering(2 * time.Minute)}, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			order := (&bootattempt.Attempt{ID: "a", Number: 1}).Next("a", began)
			v := newView(append([]func(*View){power(bmc.PowerOn), internalBoot(order.SeenOff(began).SeenOn(began))}, tc.change...)...)
			at := v.silentAt()
			if got := at.Sub(began); tc.after == never && !at.IsZero() || tc.after != never && got != tc.after {
				t.Errorf("ordered again at %s, %s after its start; want %s", at, got, tc.after)
			}
		})
	}
}

// TestABootThatMetARestartIsOrderedAgain: of the manager, with whose boot server the machine went away that is asked
// for everything. Restarts that follow each other do not have the machine booted each time.
func TestABootThatMetARestartIsOrderedAgain(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.Reconciler.Policy.DiscoveryTimeout = 30 * time.Minute
		s.discovering(t)
		first := s.attempt(t, namespace+"/"+host)
		again := func() {
			s.restart(t)
			s.Reconciler.Policy.DiscoveryTimeout = 30 * time.Minute
		}
		again()
		s.pass(t, absence-30*time.Second)
		if got := count(s.hw.Resets(), " On"); got != 1 {
			t.Fatalf("too early: %v", s.hw.Resets())
		}
		s.pass(t, 30*time.Second)
		s.boots(t, 2)
		second := s.attempt(t, namespace+"/"+host)
		if got := count(s.hw.Resets(), " On"); got != 2 || second.ID == first.ID {
			t.Fatalf("attempt %v; the machine was told %v", second, s.hw.Resets())
		}
		secret := controllertest.Read[corev1.Secret](t, s.API, namespace+"/"+host)
		if token := ignition.Token(s.TokenKey, string(s.read(t).UID), second.ID); !strings.Contains(string(secret.Data[bootv1.SecretKeyIgnition]), token) {
			t.Error("the probe is given a token of another boot")
		}
		for range 12 {
			again()
			s.pass(t, time.Minute)
		}
		if got := count(s.hw.Resets(), " On"); got != 2 {
			t.Errorf("after a restart each minute the machine was told %v", s.hw.Resets())
		}
		s.pass(t, 2*absence)
		s.boots(t, 3)
		for range 3 {
			again()
			s.pass(t, 8*time.Minute)
		}
		if got := count(s.hw.Resets(), " On"); got != 3 {
			t.Errorf("the machine was told %v", s.hw.Resets())
		}
	})
}

// boots is the probe's boot of that number, once it was prepared.
func (s *stand) boots(t *testing.T, number int) {
	t.Helper()
	s.ready(t, namespace+"/"+host)
	s.pass(t, 20*time.Second)
	if a := s.attempt(t, namespace+"/"+host); a.Number != number || a.Started == nil {
		t.Fatalf("attempt %v, want the start of number %d", a, number)
	}
	if !slices.Contains(s.told, "ProbeBootedAgain") {
		t.Errorf("events: %v", s.told)
	}
}

// TestAClaimedMachineIsNeverBootedForItsSilence: "ordered and observed On" counts as started, whatever was fetched.
func TestAClaimedMachineIsNeverBootedForItsSilence(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		before := len(s.hw.Resets())
		s.restart(t)
		s.pass(t, 40*time.Minute)
		if got := s.hw.Resets(); len(got) != before {
			t.Errorf("it was told %v", got[before:])
		}
	})
}
