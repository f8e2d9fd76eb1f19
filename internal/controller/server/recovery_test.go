package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// forgets wipes all status that says anything about the server.
func (s *stand) forgets(t *testing.T) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, host, func(o *metalv1.Server) { o.Status = metalv1.ServerStatus{} })
}

// TestNothingIsSwitchedBecauseStatusOrTheManagerIsLost takes a server to every state, and then loses status, the
// process, and both. It stays where it is, and its BMC is not told anything.
func TestNothingIsSwitchedBecauseStatusOrTheManagerIsLost(t *testing.T) {
	for state, reach := range map[metalv1.ServerState]func(*testing.T, *stand){
		metalv1.ServerStateInitial: func(t *testing.T, s *stand) {
			s.Reconciler.Policy.ProbeImage = ""
			s.pass(t, 10*time.Second)
		},
		metalv1.ServerStateDiscovery: func(t *testing.T, s *stand) { s.discovering(t) },
		metalv1.ServerStateAvailable: func(t *testing.T, s *stand) { s.available(t) },
		metalv1.ServerStateReserved:  func(t *testing.T, s *stand) { s.reserved(t) },
		metalv1.ServerStateReleased: func(t *testing.T, s *stand) {
			claim := s.reserved(t)
			s.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = metalv1.ReclaimPolicyRetain })
			s.ends(t, claim)
			s.pass(t, 20*time.Second)
		},
		metalv1.ServerStateCleanup: func(t *testing.T, s *stand) {
			s.released(t, inspection.CleanFull)
			s.mustTell(t, both)
		},
		metalv1.ServerStateParked: func(t *testing.T, s *stand) {
			s.reserved(t)
			s.operate(t, metalv1.OperationPark)
			s.hw.Power(uri, bmc.PowerOn) // by somebody who works on it
			s.rack.Look(address)
		},
		metalv1.ServerStateMaintenance: func(t *testing.T, s *stand) {
			s.reserved(t)
			m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
			m.Spec.ServerRef = metalv1.LocalObjectReference{Name: host}
			s.Add(t, m)
			s.change(t, func(o *metalv1.Server) {
				o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
			})
		},
		metalv1.ServerStateError: func(t *testing.T, s *stand) {
			s.released(t, inspection.CleanFull)
			s.mustTell(t, both, bad)
			s.pass(t, 10*time.Second)
		},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				reach(t, s)
				s.pass(t, 30*time.Second)
				s.is(t, state)
				before := s.hw.Resets()
				for range 2 {
					s.forgets(t)
					s.pass(t, 10*time.Second)
					image := s.Reconciler.Policy.ProbeImage
					s.restart(t)
					s.Reconciler.Policy.ProbeImage = image
					s.forgets(t)
					s.pass(t, 30*time.Second)
					s.is(t, state)
				}
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("the machine was told %v", got[len(before):])
				}
			})
		})
	}
}

// walk is a server to which things happen.
type walk struct {
	*stand
	claim   *metalv1.ServerClaim
	seen    metalv1.ServerState
	dirty   bool
	derived bool // boots of the probe are, and ordered by their preparation where they can be
}

// TestWhateverHappensIsInTheTable lets random things happen to a server, one after the other, over the real
// reconciler. Every change of state that is seen is a transition of the table, nothing that was used is Available
// before it is on record as clean, and a machine that runs for its claim is not told anything when status or the
// manager is lost.
func TestWhateverHappensIsInTheTable(t *testing.T) {
	sequences := rapid.SliceOfN(rapid.SampledFrom([]string{
		"claim", "claim", "release", "release", "take away", "retain", "recycle", "report", "report", "clean", "clean", "fail",
		"button", "park", "unpark", "retry", "wipe status", "restart", "hour",
	}), 6, 16)
	for seed := range walks {
		things := sequences.Example(seed)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.cleans(inspection.CleanMetadata)
				w := &walk{stand: s, derived: seed%2 == 1}
				s.watch = func(o *metalv1.Server) {
					if wrong := w.look(t, o); wrong != "" {
						t.Errorf("%s, of %v", wrong, things)
					}
				}
				// Most of what is of interest begins here.
				s.available(t)
				if w.derived {
					s.known()
				}
				for _, thing := range things {
					w.happens(t, thing)
					w.proceed(t)
				}
			})
		})
	}
}

// walks is how many sequences are tried.
const walks = 12

// look checks a change of state.
func (w *walk) look(t *testing.T, o *metalv1.Server) (wrong string) {
	state := o.Status.State
	from := w.seen
	if state == metalv1.ServerStateParked && (from == metalv1.ServerStateDiscovery || from == metalv1.ServerStateCleanup) {
		from = metalv1.ServerStateAvailable // whoever waits to be parked is parked before it is said to be available
	}
	if state != from && from != "" && state != "" && !slices.ContainsFunc(transitions, func(k transition) bool { return k.from == from && k.to == state }) {
		wrong = string("from " + from + " to " + state + "; ")
	}
	if state != "" {
		w.seen = state
	}
	if w.claim != nil && w.hw.Running(uri) && state == metalv1.ServerStateReserved {
		w.dirty = true
	}
	if state == metalv1.ServerStateAvailable && w.dirty {
		records, err := w.cleanups(t.Context(), host)
		if err != nil || len(records) == 0 || machinerecord.CleanupMetaOf(&records[0]).Outcome != machinerecord.Clean {
			wrong += "Available and dirty; "
		}
		w.dirty = false
	}
	return wrong
}

// proceed is everybody else: what was prepared is ready, and time passes.
func (w *walk) proceed(t *testing.T) {
	t.Helper()
	for range 3 {
		w.pass(t, 8*time.Second)
		if !controllertest.Gone[metalv1.ServerBootConfiguration](t, w.API, namespace+"/"+host) {
			if w.derived {
				w.stand.derived(t)
			}
			w.ready(t, namespace+"/"+host)
		}
	}
}

func (w *walk) happens(t *testing.T, thing string) {
	t.Helper()
	if controllertest.Gone[metalv1.Server](t, w.API, host) {
		return
	}
	o := w.read(t)
	probing := !controllertest.Gone[metalv1.ServerBootConfiguration](t, w.API, namespace+"/"+host)
	policy := func(p metalv1.ReclaimPolicy) { w.change(t, func(o *metalv1.Server) { o.Spec.ReclaimPolicy = p }) }
	operation := func(name string) {
		w.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationOperation, name)
		})
	}
	running := w.claim != nil && o.Status.State == metalv1.ServerStateReserved && w.hw.Running(uri) && o.Annotations[metalv1.AnnotationOperation] == ""
	before := w.hw.Resets()
	switch thing {
	case "claim":
		if o.Status.State == metalv1.ServerStateAvailable && !w.hw.Running(uri) && w.claim == nil && o.Annotations[metalv1.AnnotationOperation] == "" {
			w.claim = w.claims(t, metalv1.PowerOn)
		}
	case "release":
		if w.claim != nil {
			w.ends(t, w.claim)
			w.claim = nil
		}
	case "take away":
		if w.claim != nil {
			w.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
			w.ends(t, w.claim)
			w.claim = nil
		}
	case "retain":
		policy(metalv1.ReclaimPolicyRetain)
	case "recycle":
		policy(metalv1.ReclaimPolicyRecycle)
	case "report", "clean", "fail":
		if !probing || w.attempt(t, namespace+"/"+host).Started == nil {
			return
		}
		disks := map[string][]inspection.DiskCleanup{"clean": {good}, "fail": {bad}}[thing]
		_ = w.tells(t, both, disks) // it may come at a bad time
	case "button":
		if w.claim == nil {
			w.hw.Power(uri, map[bool]bmc.PowerState{true: bmc.PowerOff, false: bmc.PowerOn}[w.hw.Running(uri)])
			w.rack.Look(address)
		}
	case "park", "unpark", "retry":
		operation(thing)
	case "wipe status":
		w.forgets(t)
	case "restart":
		if w.restart(t); w.derived {
			w.known()
		}
	case "hour":
		w.rack.Clock.Step(time.Hour)
		w.rack.Wait()
	}
	if lost := thing == "wipe status" || thing == "restart"; lost && running {
		w.pass(t, 20*time.Second)
		if got := w.hw.Resets(); !slices.Equal(got, before) {
			t.Errorf("after %s a running machine was told %s", thing, strings.Join(got[len(before):], ", "))
		}
	}
}
