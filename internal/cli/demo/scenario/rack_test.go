package scenario

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim"
)

// machine is a machine that boots at once.
type machine struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	power   sim.PowerState
	records []sim.BootRecord
}

func (m *machine) PowerState() sim.PowerState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power
}

func (m *machine) Record() []sim.BootRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]sim.BootRecord(nil), m.records...)
}

func (m *machine) boot(record sim.BootRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	record.Start, record.POST, record.Kernel, record.Settled = now, now, now, now
	for i := range record.Fetches {
		record.Fetches[i].Start, record.Fetches[i].End = now, now
	}
	m.power = sim.PowerOn
	m.records = append(m.records, record)
}

func (m *machine) off() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.power = sim.PowerOff
	m.records[len(m.records)-1].End = m.clock.Now()
}

// system plays Kubernetes, the controllers and the BMCs at once: what is written is answered at once, by what
// a good system shows afterwards. Fields break it.
type system struct {
	client.Client
	clock    stepping
	world    *World
	machines []*machine
	boot     sim.BootRecord
	secrets  map[string]*corev1.Secret

	refusesPassword bool   // BMC 1
	bootProblem     string // of every claim
	cleanup         bool   // is gone through
	outcome         machinerecord.Outcome
	left            []string // on the disks, after they were wiped
}

func name(i int) string       { return fmt.Sprintf("sim-%04d", i+1) }
func serverName(i int) string { return name(i) + "-system-0" }
func uuid(i int) string       { return fmt.Sprintf("uuid-%d", i+1) }
func meta(namespace, n string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: n}
}

// createEndpoints is followed by everything up to Available.
func (s *system) createEndpoints(context.Context) error {
	for i := range s.machines {
		endpoint := &metalv1.Endpoint{ObjectMeta: meta("", name(i))}
		endpoint.Spec.MACAddress, endpoint.Spec.IP = "02:fa:44:00:00:01", "127.64.0.1"
		s.world.Observe(endpoint)
		bmc := &metalv1.BMC{ObjectMeta: meta("", name(i))}
		bmc.Status.State = metalv1.BMCStateEnabled
		bmc.Status.Conditions = condition(metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected, "")
		if i == 0 && s.refusesPassword {
			bmc.Status.State = metalv1.BMCStateError
			bmc.Status.Conditions = condition(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "401")
		}
		s.world.Observe(bmc)
		if i == 0 && s.refusesPassword {
			continue
		}
		s.show(i, metalv1.ServerStateInitial, metalv1.PowerStateOff, nil)
		s.show(i, metalv1.ServerStateDiscovery, metalv1.PowerStateOff, nil)
		s.machines[i].boot(sim.BootRecord{Outcome: sim.OutcomeProbe})
		s.show(i, metalv1.ServerStateAvailable, metalv1.PowerStateOn, nil)
		s.machines[i].off()
		s.show(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff, nil)
	}
	return nil
}

// show lets a moment pass and a server be in a state.
func (s *system) show(i int, state metalv1.ServerState, power metalv1.PowerState, claim *metalv1.ServerClaim) {
	s.clock.Step(100 * time.Millisecond)
	server := newServer(state, power)
	server.Name, server.Spec.SystemUUID = serverName(i), uuid(i)
	if claim != nil {
		server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: claim.Namespace, Name: claim.Name}
	}
	s.world.Observe(server)
}

func (s *system) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	switch o := obj.(type) {
	case *corev1.Secret:
		s.secrets[key(o)] = o
	case *metalv1.ServerClaim:
		o.UID = types.UID("uid-" + o.Name)
		s.claim(o)
	}
	return nil
}

// claim binds the n-th claim to the n-th server and boots it.
func (s *system) claim(claim *metalv1.ServerClaim) {
	var i int
	_, _ = fmt.Sscanf(claim.Name, "demo-%d", &i)
	i--
	s.show(i, metalv1.ServerStateReserved, metalv1.PowerStateOff, claim)
	claim.Spec.ServerRef = &metalv1.LocalObjectReference{Name: serverName(i)}
	claim.Status.Phase = metalv1.ServerClaimPhaseBound
	config := &metalv1.ServerBootConfiguration{ObjectMeta: meta(claim.Namespace, claim.Name)}
	if s.bootProblem != "" {
		claim.Status.Conditions = condition(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError", s.bootProblem)
		config.Status.State = metalv1.ServerBootConfigurationStateError
	} else {
		claim.Status.Conditions = condition(metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady", "")
		config.Status.State = metalv1.ServerBootConfigurationStateReady
	}
	s.world.Observe(config)
	s.world.Observe(claim)
	if s.bootProblem == "" {
		boot := s.boot
		boot.Fetches = append(append([]sim.Fetch(nil), boot.Fetches...), sim.Fetch{
			What: sim.WhatIgnition, SHA256: strings.TrimPrefix(digest(s.secrets[key(claim)].Data["ignition"]), "sha256:"),
		})
		s.machines[i].boot(boot)
		s.show(i, metalv1.ServerStateReserved, metalv1.PowerStateOn, claim)
	}
}

func (s *system) Get(_ context.Context, k client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	secret, ok := obj.(*corev1.Secret)
	if !ok || s.secrets[k.String()] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, k.Name)
	}
	s.secrets[k.String()].DeepCopyInto(secret)
	return nil
}

// Delete releases the server of a claim.
func (s *system) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	var i int
	_, _ = fmt.Sscanf(obj.GetName(), "demo-%d", &i)
	i--
	s.world.Forget(obj)
	s.machines[i].off()
	s.show(i, metalv1.ServerStateReserved, metalv1.PowerStateOff, nil)
	if s.cleanup {
		s.show(i, metalv1.ServerStateCleanup, metalv1.PowerStateOff, nil)
	}
	s.show(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff, nil)
	return nil
}

// List gives the records of the cleanups: that every disk is clean, of any server that is asked about.
func (s *system) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	records, ok := list.(*corev1.ConfigMapList)
	if !ok {
		return fmt.Errorf("list of %T", list)
	}
	for i := range s.machines {
		outcome := cmp.Or(s.outcome, machinerecord.Clean)
		made := machinerecord.Cleanup{Server: serverName(i), Claim: fmt.Sprintf("uid-demo-%d", i+1), Outcome: outcome, Summary: string(outcome), Disks: []inspection.DiskCleanup{
			{Path: "/dev/sda", Serial: "S1", Method: "overwrite", Seconds: 1, Result: inspection.CleanedOK},
		}}
		obj, err := made.Object("farrier-system")
		if err != nil {
			return err
		}
		records.Items = append(records.Items, *obj)
	}
	return nil
}

// rack prepares a scenario with a system that does all right.
func rack(t *testing.T, servers, claims int) (*Scenario, *system) {
	t.Helper()
	boot, want := fetched()
	boot.Fetches = withoutIgnition(boot.Fetches)
	bootServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/ipxe/uuid-") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(script)
	}))
	t.Cleanup(bootServer.Close)
	clk := newClock()
	sys := &system{clock: clk, boot: *boot, secrets: map[string]*corev1.Secret{}, cleanup: true}
	run := New(Options{Servers: servers, Claims: claims, Grace: DefaultGrace, Clock: clk, Start: func(context.Context) (*Lab, error) {
		lab := &Lab{
			Client: sys, CreateEndpoints: sys.createEndpoints, Image: "registry/image:latest", IgnitionKey: "ignition", BootURL: bootServer.URL, Hint: "kubectl",
			Layers: func(context.Context) (Layers, error) { return want.layers, nil },
		}
		for i := range servers {
			lab.Rack = append(lab.Rack, Place{BMC: name(i), UUID: uuid(i), Machine: sys.machines[i], Disks: func() []Disk { return []Disk{{Path: "/dev/sda", Serial: "S1", Traces: sys.left}} }})
		}
		return lab, nil
	}})
	sys.world = run.world
	for range servers {
		sys.machines = append(sys.machines, &machine{clock: clk, power: sim.PowerOff})
	}
	return run, sys
}

func withoutIgnition(all []sim.Fetch) []sim.Fetch {
	var kept []sim.Fetch
	for _, f := range all {
		if f.What != sim.WhatIgnition {
			kept = append(kept, f)
		}
	}
	return kept
}
