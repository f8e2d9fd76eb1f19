package manager

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// The machines of TestEveryState, by what each is held in.
const (
	free = iota
	running
	off       // claimed, power Off
	booting   // claimed, in its self test
	releasing // its claim is gone, its operating system ignores the shutdown
	cleaning  // its probe cannot clean
	released  // kept as it is
	maintained
	parked
	failed // its disk cannot be wiped
	discovery
	initial // its BMC tells neither UUID nor MAC addresses
	machines
)

// heldIn is the state that each is held in.
var heldIn = [machines]metalv1.ServerState{
	free: metalv1.ServerStateAvailable, running: metalv1.ServerStateReserved, off: metalv1.ServerStateReserved,
	booting: metalv1.ServerStateReserved, releasing: metalv1.ServerStateReserved, cleaning: metalv1.ServerStateCleanup,
	released: metalv1.ServerStateReleased, maintained: metalv1.ServerStateMaintenance, parked: metalv1.ServerStateParked,
	failed: metalv1.ServerStateError, discovery: metalv1.ServerStateDiscovery, initial: metalv1.ServerStateInitial,
}

// stand is a site with a machine in every state.
type stand struct {
	*site
	faults []string // IDs of what holds machines
}

// TestEveryState: with a machine in every state the manager is killed and started again, another one takes over, and
// all status is wiped. Each time all states are reported as they were, no machine is switched, and what was held goes on
// when it is let go.
func TestEveryState(t *testing.T) {
	s := &stand{site: newSiteOf(t, machines)}
	s.args = append(s.args, "--power-off-budget", "1h") // all that follows is within it, on a slow host too: restarts do not begin it anew
	first := launch(t, "first", s.args...)
	first.isReady()
	s.bring()
	resets := s.resets()

	first.Kill()
	s.unsay()
	s.endLease()
	again := launch(t, "again", s.args...)
	again.isReady()
	s.unchanged("after kill -9 and a start", resets)

	holder := s.holder()
	second := launch(t, "second", s.args...)
	second.isReady()
	again.Kill()
	s.unsay()
	s.unchanged("after a change of leader", resets)
	if s.holder() == holder {
		t.Error("somebody reports without the lease")
	}

	s.wipe()
	s.unchanged("after status was wiped", resets)

	s.letGo()
	for _, i := range []int{free, running, off, booting, maintained} {
		if got := s.Machine(i).Resets(); !maps.Equal(got, resets[i]) {
			t.Errorf("machine %d: resets %v at the end, %v before", i, got, resets[i])
		}
	}
}

// bring has every machine in its state.
func (s *stand) bring() {
	s.t.Helper()
	s.fault(discovery, fault.Spec{Kind: fault.SlowPOST, Value: "1h"})
	s.fault(initial, fault.Spec{Kind: fault.NoUUID})
	s.fault(initial, fault.Spec{Kind: fault.ServerError, Path: "/Systems/[^/]+/EthernetInterfaces"})
	s.introduce()
	for i := range discovery {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	// Longer than all that follows on a fast host; where it is over before, the machine runs, and still must not be switched.
	s.fault(booting, fault.Spec{Kind: fault.SlowPOST, Value: "30s"})
	s.fault(releasing, fault.Spec{Kind: fault.IgnoreShutdown})
	s.fault(cleaning, fault.Spec{Kind: fault.OldProbe})
	s.fault(failed, fault.Spec{Kind: fault.DiskFails, Value: "0"})
	s.patch(s.server(released), `{"spec":{"reclaimPolicy":"Retain"}}`)

	claimed := []int{running, releasing, cleaning, released, maintained, parked, failed}
	for _, i := range claimed {
		s.claimServer(i, metalv1.PowerOn)
	}
	s.claimServer(off, metalv1.PowerOff)
	s.claimServer(booting, metalv1.PowerOn)
	for _, i := range claimed {
		s.serverIs(i, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	}
	for _, i := range []int{releasing, cleaning, released, failed} {
		if err := s.Delete(s.t.Context(), s.claimOf(i)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.operate(parked, metalv1.OperationPark)
	s.create(s.maintenance())

	s.serverIs(off, metalv1.ServerStateReserved, metalv1.PowerStateOff)
	s.serverIs(parked, metalv1.ServerStateParked, metalv1.PowerStateOff)
	s.serverIs(released, metalv1.ServerStateReleased, metalv1.PowerStateOff)
	s.serverIs(maintained, metalv1.ServerStateMaintenance, metalv1.PowerStateOn)
	s.serverSays(cleaning, metalv1.ConditionCleaned, metalv1.ReasonProbeCannotClean)
	s.serverSays(releasing, metalv1.ConditionWaitingForPowerOff, "")
	for _, i := range []int{booting, discovery} {
		eventually(s.t, fmt.Sprintf("machine %d is switched on", i), func() error {
			if power := s.Machine(i).PowerState(); power == "Off" {
				return fmt.Errorf("is %s", power)
			}
			return nil
		})
	}
	s.allHeld("brought")
}

// letGo takes away what holds each machine, and waits for where that leads.
func (s *stand) letGo() {
	s.t.Helper()
	for _, id := range s.faults {
		if err := s.ClearFault(id); err != nil {
			s.t.Fatal(err)
		}
	}
	s.press(releasing, "GracefulShutdown")
	s.press(discovery, "ForceRestart")
	s.operate(cleaning, metalv1.OperationRetry)
	s.operate(failed, metalv1.OperationRetry)
	s.operate(parked, metalv1.OperationUnpark)
	s.patch(s.server(released), `{"spec":{"reclaimPolicy":"Recycle"}}`)
	if err := s.Delete(s.t.Context(), s.maintenance()); err != nil {
		s.t.Fatal(err)
	}
	for _, i := range []int{free, releasing, cleaning, released, failed, discovery, initial} {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	for _, i := range []int{running, booting, maintained, parked} {
		s.serverIs(i, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	}
	s.serverIs(off, metalv1.ServerStateReserved, metalv1.PowerStateOff)
}

// said is what the status of every object says its state is.
func (s *stand) said() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&metalv1.ServerList{}, &metalv1.ServerClaimList{}, &metalv1.ServerBootConfigurationList{}, &metalv1.ServerMaintenanceList{}} {
		if err := s.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		switch l := list.(type) {
		case *metalv1.ServerList:
			for _, o := range l.Items {
				// A power state is what somebody has seen at the BMC: a decision was made with all there is to know.
				all["server "+o.Name] = fmt.Sprintf("%s, power known: %t", o.Status.State, o.Status.PowerState != "")
			}
		case *metalv1.ServerClaimList:
			for _, o := range l.Items {
				all["claim "+o.Name] = string(o.Status.Phase)
			}
		case *metalv1.ServerBootConfigurationList:
			for _, o := range l.Items {
				all["boot configuration "+o.Namespace+"/"+o.Name] = stateOf(&o)
			}
		case *metalv1.ServerMaintenanceList:
			for _, o := range l.Items {
				all["maintenance "+o.Name] = string(o.Status.State)
			}
		}
	}
	return all
}

// stateOf is the state of a boot configuration. That of a probe is silent while all is well and the machine has fetched nothing.
func stateOf(config *metalv1.ServerBootConfiguration) string {
	if config.Annotations[metalv1.AnnotationType] == metalv1.TypeInternal && config.Status.State == "" {
		return string(metalv1.ServerBootConfigurationStateReady)
	}
	return string(config.Status.State)
}

// held is what is said of machines that are held.
func (s *stand) held() map[string]string {
	all := map[string]string{"maintenance work": string(metalv1.ServerMaintenanceStateInMaintenance)}
	for i, state := range heldIn {
		all["server "+s.server(i).Name] = fmt.Sprintf("%s, power known: true", state)
	}
	ready := string(metalv1.ServerBootConfigurationStateReady)
	for _, i := range []int{running, off, booting, maintained, parked} {
		claim := s.claimOf(i)
		all["claim "+claim.Name] = string(metalv1.ServerClaimPhaseBound)
		all["boot configuration "+claim.Namespace+"/"+claim.Name] = ready
	}
	for _, i := range []int{cleaning, discovery} {
		all["boot configuration "+s.namespace+"/"+s.server(i).Name] = ready
	}
	return all
}

// allHeld waits until that is said.
func (s *stand) allHeld(when string) {
	s.t.Helper()
	eventually(s.t, when+": all states are as they should be", func() error {
		if diff := cmp.Diff(s.held(), s.said()); diff != "" {
			return errors.New("- want, + got\n" + diff)
		}
		return nil
	})
}

// unchanged waits until all is said again, and compares what was done to the machines.
func (s *stand) unchanged(when string, resets []map[string]int) {
	s.t.Helper()
	s.allHeld(when)
	for i, want := range resets {
		if got := s.Machine(i).Resets(); !maps.Equal(got, want) {
			s.t.Errorf("%s: machine %d: resets %v, before %v", when, i, got, want)
		}
	}
}

// unsay removes what servers say of their state, and nothing else: who says it again has decided about them.
func (s *stand) unsay() {
	s.t.Helper()
	for i := range machines {
		s.patchStatus(s.server(i), `{"status":{"state":null,"powerState":null}}`)
	}
}

// wipe removes all status.
func (s *stand) wipe() {
	s.t.Helper()
	var servers metalv1.ServerList
	var claims metalv1.ServerClaimList
	var boots metalv1.ServerBootConfigurationList
	var objects []client.Object
	for _, list := range []client.ObjectList{&servers, &claims, &boots} {
		if err := s.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
	}
	for i := range servers.Items {
		objects = append(objects, &servers.Items[i])
	}
	for i := range claims.Items {
		objects = append(objects, &claims.Items[i])
	}
	for i := range boots.Items {
		objects = append(objects, &boots.Items[i])
	}
	for _, object := range append(objects, s.maintenance()) {
		s.patchStatus(object, `{"status":null}`)
	}
}

func (s *stand) fault(i int, spec fault.Spec) {
	s.t.Helper()
	spec.BMCs = []int{i + 1}
	entry, err := s.InjectFault(spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.faults = append(s.faults, entry.ID)
}

func (s *stand) server(i int) *metalv1.Server {
	return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: s.BMCs()[i].Name + "-system-0"}}
}

func (s *stand) claimOf(i int) *metalv1.ServerClaim {
	return &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "of-" + s.BMCs()[i].Name}}
}

func (s *stand) claimServer(i int, power metalv1.Power) {
	s.t.Helper()
	claim := s.claimOf(i)
	secret := &corev1.Secret{ObjectMeta: *claim.ObjectMeta.DeepCopy(), StringData: map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}}
	claim.Spec.Power, claim.Spec.Image = power, s.registry.Reference("os", "1")
	claim.Spec.ServerRef = &metalv1.LocalObjectReference{Name: s.server(i).Name}
	claim.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: secret.Name}
	s.create(secret, claim)
}

func (s *stand) maintenance() *metalv1.ServerMaintenance {
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "work"}}
	m.Spec.Policy = metalv1.ServerMaintenancePolicyEnforced
	m.Spec.ServerRef = metalv1.LocalObjectReference{Name: s.server(maintained).Name}
	return m
}

func (s *stand) operate(i int, operation string) {
	s.t.Helper()
	s.patch(s.server(i), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, metalv1.AnnotationOperation, operation))
}

// press is a person at the machine.
func (s *stand) press(i int, reset string) {
	s.t.Helper()
	if _, err := s.Machine(i).Reset(reset); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) patch(object client.Object, patch string) {
	s.t.Helper()
	if err := s.Patch(s.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) patchStatus(object client.Object, patch string) {
	s.t.Helper()
	if err := s.Status().Patch(s.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.t.Fatal(err)
	}
}

// serverSays waits for a condition of server i with a reason; empty: any, and true.
func (s *stand) serverSays(i int, condition, reason string) {
	s.t.Helper()
	server := s.server(i)
	eventually(s.t, "server "+server.Name+" says "+condition, func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(server), server); err != nil {
			return err
		}
		var all []string
		for _, c := range server.Status.Conditions {
			if c.Type == condition && (c.Reason == reason || reason == "" && c.Status == metav1.ConditionTrue) {
				return nil
			}
			all = append(all, c.Type+"="+c.Reason)
		}
		return errors.New("says " + strings.Join(all, ", "))
	})
}
