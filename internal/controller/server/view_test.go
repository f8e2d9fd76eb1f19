package server

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ago is a moment before now, as the durable records keep it.
func ago(d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

// newView is a server that has just been found: known, never observed.
func newView(change ...func(*View)) *View {
	v := &View{
		Now: now,
		Policy: Policy{
			DiscoveryTimeout: 30 * time.Minute, DiscoveryRetries: 2, PowerOffBudget: time.Minute, EnforcePowerOff: true, ProbeImage: "registry/probe:1",
		},
		Server: &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "server-uid", CreationTimestamp: metav1.NewTime(now)}},
		NewID:  func() string { return "fresh" },
	}
	v.Server.Spec.SystemUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	for _, c := range change {
		c(v)
	}
	return v
}

func power(state bmc.PowerState) func(*View) {
	return func(v *View) {
		v.System = &fleet.SystemObservation{System: bmc.System{URI: "/redfish/v1/Systems/1", PowerState: state}, Inventory: &bmc.Inventory{}, Seen: now}
	}
}

func command(id string, state fleet.CommandState, end time.Time) func(*View) {
	return func(v *View) { v.System.Command = fleet.CommandStatus{ID: id, State: state, End: end} }
}

func bootWith(a *bootattempt.Attempt, state metalv1.ServerBootConfigurationState) func(*View) {
	return func(v *View) {
		v.Boot = &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
		v.Boot.Status.State = state
		v.Attempt = a
		v.Acknowledged = a.Open()
		v.Made = []bootmethod.Made{{Method: bootmethod.IPXE}}
		v.Server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "c"}
	}
}

func internalBoot(a *bootattempt.Attempt) func(*View) {
	return func(v *View) {
		bootWith(a, metalv1.ServerBootConfigurationStateReady)(v)
		v.BootInternal = true
	}
}

// told says that something was fetched in an attempt, some time ago.
func told(condition, attemptID string, ago time.Duration) func(*View) {
	return func(v *View) {
		v.Boot.Status.DeliveryAttempt = attemptID
		v.Boot.Status.Conditions = append(v.Boot.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "Delivered",
			LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		})
	}
}

func claimed(p metalv1.Power) func(*View) {
	return func(v *View) {
		claimGone(v)
		v.Claim = &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "claim-uid"}}
		v.Claim.Spec.Power = p
		v.Inspected = "earlier"
	}
}

// claimGone is a server whose claim has been deleted.
func claimGone(v *View) {
	v.Server.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "claim-uid"}
	v.Server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
	v.Inspected = "earlier"
}

func TestDeriveNeedsNoStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		view *View
		want metalv1.ServerState
	}{
		"new":       {newView(), metalv1.ServerStateInitial},
		"discovery": {newView(internalBoot(nil)), metalv1.ServerStateDiscovery},
		"discovery failed too often": {newView(internalBoot(nil), func(v *View) {
			v.Server.Annotations = map[string]string{annotationDiscoveryFailures: "3"}
		}), metalv1.ServerStateError},
		"reported":  {newView(internalBoot(nil), func(v *View) { v.Inspected = "a" }), metalv1.ServerStateAvailable},
		"claimed":   {newView(claimed(metalv1.PowerOn)), metalv1.ServerStateReserved},
		"releasing": {newView(claimGone, power(bmc.PowerOn)), metalv1.ServerStateReserved},
		"retained, not off yet": {newView(claimGone, power(bmc.PowerOn), func(v *View) {
			v.Server.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain
		}), metalv1.ServerStateReserved},
		"retained, after a start": {newView(claimGone, func(v *View) {
			v.Server.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain
		}), metalv1.ServerStateReleased},
		"retained": {newView(claimGone, power(bmc.PowerOff), func(v *View) {
			v.Server.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain
		}), metalv1.ServerStateReleased},
		"reference removed by hand": {newView(claimGone, func(v *View) { v.Server.Spec.ServerClaimRef = nil }), metalv1.ServerStateCleanup},
		"not clean": {newView(claimGone, func(v *View) {
			v.Server.Spec.ServerClaimRef = nil
			v.Server.Spec.Taints = []metalv1.Taint{{Key: metalv1.TaintNotClean}}
		}), metalv1.ServerStateError},
		"parked while claimed": {newView(claimed(metalv1.PowerOn), func(v *View) {
			v.Server.Annotations[metalv1.AnnotationParked] = "true"
		}), metalv1.ServerStateParked},
		"maintenance while claimed": {newView(claimed(metalv1.PowerOn), func(v *View) {
			v.Server.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		}), metalv1.ServerStateMaintenance},
	} {
		t.Run(name, func(t *testing.T) {
			if got := derive(tc.view).state; got != tc.want {
				t.Errorf("state %s, want %s", got, tc.want)
			}
		})
	}
}

// TestAProbesBootIsOrderedByItsPreparationIfTheLastPollSawTheMachineOff, however long its server has waited for its turn within that.
func TestAProbesBootIsOrderedByItsPreparationIfTheLastPollSawTheMachineOff(t *testing.T) {
	seen := func(ago time.Duration) func(*View) { return func(v *View) { v.System.Seen = now.Add(-ago) } }
	for name, tc := range map[string]struct {
		view *View
		want bool
	}{
		"a moment ago":                        {newView(power(bmc.PowerOff)), true},
		"minutes ago":                         {newView(power(bmc.PowerOff), seen(seenByPoll-time.Second)), true},
		"long ago":                            {newView(power(bmc.PowerOff), seen(seenByPoll)), false},
		"it is on":                            {newView(power(bmc.PowerOn)), false},
		"again, after nothing came of a boot": {newView(power(bmc.PowerOff), internalBoot(nil), seen(time.Minute), func(v *View) { v.Boot = nil }), true},
	} {
		_, plan := decide(tc.view)
		if !plan.Prepare || plan.Order != tc.want {
			t.Errorf("%s: prepared %v, ordered %v, want %v", name, plan.Prepare, plan.Order, tc.want)
		}
	}
}

// wanted is what a plan is compared with; the zero value wants that nothing is done.
type wanted struct {
	prepare, remove, record, facts bool
	attempt                        string // "ordered", "off", "started"
	command                        fleet.CommandKind
	id                             string
	force                          bool
	after                          time.Duration
}

func TestDecisions(t *testing.T) {
	ordered := func() *bootattempt.Attempt {
		return &bootattempt.Attempt{ID: "a", Number: 1, Ordered: ago(time.Second)}
	}
	off := func() *bootattempt.Attempt { return ordered().SeenOff(*ago(time.Millisecond)) }
	started := func(d time.Duration) *bootattempt.Attempt { return ordered().SeenOn(*ago(d)) }
	for name, tc := range map[string]struct {
		view *View
		want wanted
	}{
		"initial waits for the BMC":                         {newView(), wanted{after: while}},
		"initial waits for the inventory":                   {newView(power(bmc.PowerOn), func(v *View) { v.System.Inventory = nil }), wanted{after: while}},
		"initial says at once that the BMC does not answer": {newView(func(v *View) { v.Unreachable = errors.New("refused") }), wanted{}},
		"initial has said something before":                 {newView(func(v *View) { v.Server.Status.State = metalv1.ServerStateInitial }), wanted{after: moment}},
		"initial prepares":                                  {newView(power(bmc.PowerOff)), wanted{prepare: true}},
		"initial waits after a discovery that timed out": {newView(power(bmc.PowerOff), func(v *View) {
			v.Server.Annotations = map[string]string{annotationDiscoveryNotBefore: now.Add(time.Minute).Format(time.RFC3339)}
		}), wanted{after: time.Minute}},
		"initial tries again in time": {newView(power(bmc.PowerOff), func(v *View) {
			v.Server.Annotations = map[string]string{annotationDiscoveryNotBefore: now.Format(time.RFC3339)}
		}), wanted{prepare: true}},
		"initial without a probe image": {newView(power(bmc.PowerOff), func(v *View) { v.Policy.ProbeImage = "" }), wanted{}},

		"discovery prepares what is missing": {newView(internalBoot(nil), func(v *View) { v.Boot = nil }), wanted{prepare: true}},
		"discovery orders a prepared boot":   {newView(power(bmc.PowerOn), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1})), wanted{attempt: "ordered"}},
		"discovery saw it off a moment ago":  {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1})), wanted{attempt: "off"}},
		"discovery saw it off by the last poll": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Seen = now.Add(-4 * time.Minute)
		}), wanted{attempt: "off"}},
		"discovery saw it off long ago": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Seen = now.Add(-5 * time.Minute)
		}), wanted{attempt: "ordered"}},
		"discovery saw it off, and something is under way": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Command = fleet.CommandStatus{ID: "another", State: fleet.Running}
		}), wanted{attempt: "ordered"}},
		"discovery saw it off by what it was told": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Command = fleet.CommandStatus{ID: "another", Kind: fleet.PowerOff, State: fleet.Succeeded, End: v.System.Seen.Add(time.Millisecond)}
		}), wanted{attempt: "off"}},
		"discovery saw it off, and what it was told has failed": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Command = fleet.CommandStatus{ID: "another", Kind: fleet.PowerOff, State: fleet.Failed, End: v.System.Seen.Add(time.Millisecond)}
		}), wanted{attempt: "ordered"}},
		"discovery saw it off, and it was told to switch on": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.System.Command = fleet.CommandStatus{ID: "another", Kind: fleet.PowerOn, State: fleet.Succeeded, End: v.System.Seen.Add(time.Millisecond)}
		}), wanted{attempt: "ordered"}},
		"discovery waits for the image": {newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "a", Number: 1}), func(v *View) {
			v.Boot.Status.State = metalv1.ServerBootConfigurationStatePending
		}), wanted{}},
		"discovery starts from cold":          {newView(power(bmc.PowerOn), internalBoot(ordered())), wanted{command: fleet.PowerOff, id: "server-uid/a/off", force: true}},
		"discovery sees it off":               {newView(power(bmc.PowerOff), internalBoot(ordered())), wanted{attempt: "off"}},
		"discovery knows nothing after start": {newView(internalBoot(ordered())), wanted{}},
		"discovery powers on":                 {newView(power(bmc.PowerOff), internalBoot(off())), wanted{command: fleet.PowerOn, id: "server-uid/a/on", after: while - time.Millisecond}},
		"discovery waits for a boot server": {newView(power(bmc.PowerOff), internalBoot(off()), func(v *View) {
			v.Acknowledged = false
		}), wanted{after: moment - time.Second}},
		"discovery does not wait for ever for a boot server": {newView(power(bmc.PowerOff), internalBoot(off()), func(v *View) {
			v.Acknowledged, v.Now = false, now.Add(time.Minute)
		}), wanted{command: fleet.PowerOn, id: "server-uid/a/on"}},
		"discovery sees it on":                        {newView(power(bmc.PowerOn), internalBoot(off())), wanted{attempt: "started"}},
		"discovery waits for the report":              {newView(power(bmc.PowerOn), internalBoot(started(time.Minute)), told(metalv1.ConditionIgnitionDataFetched, "a", 0)), wanted{after: 29 * time.Minute}},
		"discovery is not repeated when off":          {newView(power(bmc.PowerOff), internalBoot(started(time.Minute)), told(metalv1.ConditionIgnitionDataFetched, "a", 0)), wanted{after: 29 * time.Minute}},
		"discovery waits for a sign of life":          {newView(power(bmc.PowerOn), internalBoot(started(time.Minute)), told(metalv1.ConditionIPXEScriptFetched, "b", 0)), wanted{after: 14 * time.Minute}},
		"discovery of a silent machine is begun anew": {newView(power(bmc.PowerOn), internalBoot(started(16*time.Minute))), wanted{prepare: true}},
		"nor where somebody else delivers": {newView(power(bmc.PowerOn), internalBoot(started(16*time.Minute)), func(v *View) {
			v.Policy.ForeignBoot = true
		}), wanted{after: 14 * time.Minute}},
		"nor a second time": {newView(power(bmc.PowerOn), internalBoot(started(16*time.Minute)), func(v *View) {
			v.Attempt.Number = mostBoots
		}), wanted{after: 14 * time.Minute}},
		"discovery times out": {newView(power(bmc.PowerOn), internalBoot(started(31*time.Minute))), wanted{remove: true, facts: true}},

		"available is off": {newView(power(bmc.PowerOff), func(v *View) { v.Inspected = "a" }), wanted{}},
		"available is being switched off": {newView(power(bmc.PowerPoweringOff), func(v *View) { v.Inspected = "a" }),
			wanted{command: fleet.PowerOff, id: "server-uid/available-a/off", force: true}},
		"available and nobody knows its power": {newView(power(bmc.PowerUnknown), func(v *View) { v.Inspected = "a" }), wanted{}},
		"available is switched off": {newView(power(bmc.PowerOn), internalBoot(started(time.Minute)), func(v *View) { v.Inspected = "a" }),
			wanted{remove: true, facts: true, command: fleet.PowerOff, id: "server-uid/available-a/off", force: true}},

		"reserved waits for its boot configuration": {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn)), wanted{}},
		"reserved orders": {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith(nil, metalv1.ServerBootConfigurationStateReady)),
			wanted{attempt: "ordered"}},
		"reserved does not boot an error": {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith(nil, metalv1.ServerBootConfigurationStateError)), wanted{}},
		"reserved powers on": {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith(ordered(), metalv1.ServerBootConfigurationStateReady)),
			wanted{command: fleet.PowerOn, id: "server-uid/a/on", after: while - time.Second}},
		"reserved says at once that it powers on": {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith(ordered(), metalv1.ServerBootConfigurationStateReady), func(v *View) {
			v.Server.Status.State = metalv1.ServerStateReserved
		}), wanted{command: fleet.PowerOn, id: "server-uid/a/on"}},
		"discovery says at once that its BMC is gone": {newView(power(bmc.PowerOff), internalBoot(off()), func(v *View) { v.Unreachable = errors.New("gone") }),
			wanted{command: fleet.PowerOn, id: "server-uid/a/on"}},
		"reserved sees it on": {newView(power(bmc.PowerOn), claimed(metalv1.PowerOn), bootWith(ordered(), metalv1.ServerBootConfigurationStateReady)),
			wanted{attempt: "started"}},
		"reserved leaves a running machine alone": {newView(power(bmc.PowerOn), claimed(metalv1.PowerOn), bootWith(started(time.Hour), metalv1.ServerBootConfigurationStateReady)), wanted{}},
		"reserved leaves it alone with an error":  {newView(power(bmc.PowerOn), claimed(metalv1.PowerOn), bootWith(started(time.Hour), metalv1.ServerBootConfigurationStateError)), wanted{}},
		"reserved knows nothing after start":      {newView(claimed(metalv1.PowerOn), bootWith(started(time.Hour), metalv1.ServerBootConfigurationStateReady)), wanted{}},
		"reserved boots again what went off":      {newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith(started(time.Hour), metalv1.ServerBootConfigurationStateReady)), wanted{attempt: "ordered"}},
		"reserved and to be off": {newView(power(bmc.PowerOn), claimed(metalv1.PowerOff), bootWith(nil, metalv1.ServerBootConfigurationStateReady)),
			wanted{command: fleet.PowerOff, id: "server-uid/claim-claim-uid-none/off"}},
		"reserved without a mark": {newView(power(bmc.PowerOn), claimed(metalv1.PowerOn), func(v *View) { v.Server.Annotations = nil }), wanted{facts: true}},

		"releasing switches off":  {newView(power(bmc.PowerOn), claimGone), wanted{command: fleet.PowerOff, id: "server-uid/release-claim-uid/off", force: true}},
		"releasing knows nothing": {newView(claimGone), wanted{}},
		"releasing supersedes an order of the claim": {newView(power(bmc.PowerOff), claimGone, command("server-uid/a/on", fleet.Running, time.Time{})),
			wanted{command: fleet.PowerOff, id: "server-uid/release-claim-uid/off", force: true}},
		"releasing hands on":  {newView(power(bmc.PowerOff), claimGone), wanted{facts: true}},
		"cleanup is recorded": {newView(power(bmc.PowerOff), claimGone, func(v *View) { v.Server.Spec.ServerClaimRef = nil }), wanted{record: true}},
		"cleanup ends when it is": {newView(power(bmc.PowerOff), claimGone, func(v *View) {
			v.Server.Spec.ServerClaimRef = nil
			v.Cleaned = &machinerecord.CleanupMeta{Mode: "none", Outcome: machinerecord.Clean}
		}), wanted{facts: true}},
		"parked is asked once":     {newView(power(bmc.PowerOn), parkedView), wanted{facts: true, command: fleet.PowerOff, id: "server-uid/park-fresh/off"}},
		"parked is not asked more": {newView(power(bmc.PowerOn), parkedView, func(v *View) { v.Server.Annotations[metalv1.AnnotationParkedOff] = "true" }), wanted{}},
	} {
		t.Run(name, func(t *testing.T) {
			ph := derive(tc.view)
			p := decisions[ph](tc.view)
			tc.view.defers(ph, &p)
			check(t, tc.view, p, tc.want)
		})
	}
}

func parkedView(v *View) {
	v.Server.Annotations = map[string]string{metalv1.AnnotationParked: "true"}
}

func check(t *testing.T, v *View, p Plan, want wanted) {
	t.Helper()
	got := wanted{prepare: p.Prepare, remove: p.Remove, record: p.Record != nil, facts: len(p.Edits) > 0, after: p.After}
	if p.Command != nil {
		got.command, got.id, got.force = p.Command.Kind, p.Command.ID, p.Command.Force
	}
	if a := p.Attempt; a != nil {
		switch {
		case a.Started != nil:
			got.attempt = "started"
		case a.Off != nil:
			got.attempt = "off"
		case a.Ordered != nil:
			got.attempt = "ordered"
		}
	}
	if got != want {
		t.Errorf("plan %+v\nwant %+v", got, want)
	}
	if p.Command != nil && p.Attempt != nil {
		t.Error("a command and the fact that orders it are in one plan")
	}
	apply(v.Server.DeepCopy(), p.Edits)
}

func TestAttemptsFollowEachOther(t *testing.T) {
	v := newView(power(bmc.PowerOff), claimed(metalv1.PowerOn), bootWith((&bootattempt.Attempt{ID: "a", Number: 4, Ordered: ago(time.Hour)}).SeenOn(*ago(time.Hour)), metalv1.ServerBootConfigurationStateReady))
	p := decideReserved(v)
	if p.Attempt == nil || p.Attempt.Number != 5 || p.Attempt.ID != "fresh" || p.Attempt.Started != nil {
		t.Errorf("the next attempt is %+v", p.Attempt)
	}
	v = newView(power(bmc.PowerOff), internalBoot(&bootattempt.Attempt{ID: "prepared", Number: 1}))
	if p := decideDiscovery(v); p.Attempt == nil || p.Attempt.ID != "prepared" {
		t.Errorf("ordering a prepared boot must keep its ID, which the probe's token is made of: %+v", p.Attempt)
	}
}

func TestFailedCommandsAreRepeatedSlowly(t *testing.T) {
	v := newView(power(bmc.PowerOn), claimGone, command("server-uid/release-claim-uid/off", fleet.Failed, now.Add(-time.Second)))
	if p := decideReleasing(v); p.Command != nil || p.After <= 0 {
		t.Errorf("a command that has just failed was repeated: %+v", p)
	}
	v.System.Command.End = now.Add(-time.Minute)
	p := decideReleasing(v)
	if p.Command == nil || p.Command.ID == "server-uid/release-claim-uid/off" {
		t.Fatalf("the fleet would take the repetition for the one that failed: %+v", p.Command)
	}
	v.System.Command.ID, v.System.Command.State = p.Command.ID, fleet.Running
	if again := decideReleasing(v); again.Command == nil || again.Command.ID != p.Command.ID {
		t.Errorf("a repetition that is under way must keep its ID: %+v", again.Command)
	}
}

func TestBootMethodFollowsTheImage(t *testing.T) {
	v := newView(power(bmc.PowerOff))
	v.Made = []bootmethod.Made{{Method: bootmethod.IPXE}}
	if got := v.bootOverride(); got.Target != bmc.BootPXE {
		t.Errorf("kernel and initramfs: %+v", got)
	}
	v.Made = append(v.Made, bootmethod.Made{Method: bootmethod.HTTP, URL: "http://boot/x.efi"})
	v.System.Boot.Targets = []string{"Pxe"}
	if got := v.bootOverride(); got.Target != bmc.BootPXE {
		t.Errorf("both, and no UEFI HTTP in the BMC: %+v", got)
	}
	v.System.Boot.Targets = []string{"Pxe", "UefiHttp"}
	if got := v.bootOverride(); got.Target != bmc.BootUEFIHTTP || got.URI != "http://boot/x.efi" {
		t.Errorf("both, and UEFI HTTP in the BMC: %+v", got)
	}
}

func TestOperations(t *testing.T) {
	available := func(v *View) { v.Inspected = "a" }
	for name, tc := range map[string]struct {
		view      *View
		operation string
		stays     bool
		event     string
	}{
		"park":               {newView(available), metalv1.OperationPark, false, "Parked"},
		"park a new one":     {newView(), metalv1.OperationPark, false, "Parked"},
		"park is deferred":   {newView(claimGone, power(bmc.PowerOff), func(v *View) { v.Server.Spec.ServerClaimRef = nil }), metalv1.OperationPark, true, "ParkDeferred"},
		"unpark":             {newView(parkedView), metalv1.OperationUnpark, false, "Unparked"},
		"retry":              {newView(), metalv1.OperationRetry, false, "Retried"},
		"unknown is removed": {newView(), "dance", false, "UnsupportedOperation"},
	} {
		t.Run(name, func(t *testing.T) {
			p, done := decideOperation(tc.view, tc.operation)
			if done == tc.stays || len(p.Events) != 1 || p.Events[0].Reason != tc.event {
				t.Errorf("done=%v events=%v", done, p.Events)
			}
			if _, asked := tc.view.Server.Annotations[metalv1.AnnotationOperation]; !done && (asked || len(p.Edits) > 0) {
				t.Errorf("it waits, and %v is written", p.Edits)
			}
		})
	}
}
