package scenario

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/sim"
)

// said is what a condition says when it is false; empty otherwise.
func said(conditions []metav1.Condition, kind string) string {
	return overview.Said(conditions, kind, metav1.ConditionFalse)
}

func holds(conditions []metav1.Condition, kind string) bool {
	return apimeta.IsStatusConditionTrue(conditions, kind)
}

func (s *Scenario) endpointsExist(state *State) verdict {
	return judge(s.lab.Rack, func(p Place) finding {
		if state.Endpoints[p.BMC] == nil {
			return waiting("Endpoint %s does not exist", p.BMC)
		}
		return done
	})
}

func (s *Scenario) bmcsConnected(state *State) verdict {
	return judge(s.lab.Rack, func(p Place) finding {
		return connected(state.Endpoints[p.BMC], state.BMCs[p.BMC]).of("BMC " + p.BMC)
	})
}

// connected reports whether a BMC came of an Endpoint, and answers.
func connected(endpoint *metalv1.Endpoint, bmc *metalv1.BMC) finding {
	switch {
	case bmc != nil && holds(bmc.Status.Conditions, metalv1.ConditionReady):
		return done
	case bmc != nil && said(bmc.Status.Conditions, metalv1.ConditionReady) != "":
		return broken("%s", said(bmc.Status.Conditions, metalv1.ConditionReady))
	case bmc != nil:
		return waiting("not heard of yet")
	case endpoint != nil && said(endpoint.Status.Conditions, conditionRecognised) != "":
		return broken("%s", said(endpoint.Status.Conditions, conditionRecognised))
	}
	return waiting("not there yet")
}

// conditionRecognised says of an Endpoint whether a BMC came of it.
const conditionRecognised = "Recognised"

func (s *Scenario) serversFound(state *State) verdict {
	return judge(s.lab.Rack, func(p Place) finding {
		if state.server(p.UUID) == nil {
			return waiting("BMC %s: no Server with system UUID %s", p.BMC, p.UUID)
		}
		return done
	})
}

func (s *Scenario) serversDiscovered(state *State) verdict {
	return judge(s.lab.Rack, func(p Place) finding {
		server := state.server(p.UUID)
		if server == nil {
			return waiting("BMC %s: its Server is gone", p.BMC)
		}
		f := available(server)
		if why := mishap(latest(p.Machine.Record(), time.Time{})); why != "" && !f.done && f.broken == "" {
			f = broken("its machine %s", why)
		}
		return f.of("Server " + server.Name)
	})
}

// available reports whether a server waits for a claim: looked at, off, and with nothing left of what it did before.
func available(server *metalv1.Server) finding {
	now, spec := &server.Status, &server.Spec
	free := now.State == metalv1.ServerStateAvailable && spec.BootConfigurationRef == nil &&
		spec.ServerClaimRef == nil && server.Annotations[metalv1.AnnotationClaimedBy] == ""
	switch {
	case now.State == metalv1.ServerStateError:
		return broken("Error: %s", said(now.Conditions, metalv1.ConditionReady))
	case said(now.Conditions, metalv1.ConditionReady) != "":
		return broken("%s", said(now.Conditions, metalv1.ConditionReady))
	case free && now.PowerState == metalv1.PowerStateOff:
		return done
	case free:
		return waiting("Available, and its power is %s", now.PowerState)
	}
	for _, kind := range []string{metalv1.ConditionBootReady, metalv1.ConditionDiscovered} {
		if why := said(now.Conditions, kind); why != "" {
			return waiting("%s: %s", now.State, why)
		}
	}
	return waiting("%s", now.State)
}

// latest is the newest boot that began at or after a moment.
func latest(records []sim.BootRecord, from time.Time) *sim.BootRecord {
	if n := len(records); n > 0 && !records[n-1].Start.Before(from) {
		return &records[n-1]
	}
	return nil
}

// mishap says what went wrong in a boot that still lasts.
func mishap(boot *sim.BootRecord) string {
	if boot == nil || !boot.End.IsZero() {
		return ""
	}
	switch boot.Outcome {
	case sim.OutcomeFailed:
		return "failed to boot: " + boot.Why
	case sim.OutcomeFirmware:
		return "booted nothing: " + boot.Why
	case "":
		if boot.Why != "" {
			return "keeps trying to boot: " + boot.Why
		}
	}
	return ""
}

func (s *Scenario) claimsBound(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		claim := state.Claims[c.name]
		switch {
		case claim == nil:
			return waiting("claim %s does not exist", c.name)
		case claim.Status.Phase == metalv1.ServerClaimPhaseBound && claim.Spec.ServerRef != nil:
			if s.placeOf(state, claim.Spec.ServerRef.Name) == nil {
				return broken("claim %s: its Server %s is not of this rack", c.name, claim.Spec.ServerRef.Name)
			}
			return done
		case said(claim.Status.Conditions, metalv1.ConditionBound) != "":
			return broken("claim %s: %s", c.name, said(claim.Status.Conditions, metalv1.ConditionBound))
		}
		return waiting("claim %s: no condition says yet whether it is bound", c.name)
	})
}

func (s *Scenario) configsReady(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		return bootable(state.Claims[c.name], state.Configs[c.name]).of("claim " + c.name)
	})
}

// bootable reports whether the boot configuration of a claim can be booted. The claim has to say so too, because
// that is what its user looks at.
func bootable(claim *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration) finding {
	switch {
	case claim == nil:
		return waiting("gone")
	case config == nil:
		return waiting("no boot configuration yet")
	}
	ready := config.Status.State == metalv1.ServerBootConfigurationStateReady
	failed := config.Status.State == metalv1.ServerBootConfigurationStateError
	switch why := said(claim.Status.Conditions, metalv1.ConditionBootReady); {
	case ready && holds(claim.Status.Conditions, metalv1.ConditionBootReady):
		return done
	case failed && why != "":
		return broken("%s", why)
	case why != "":
		return waiting("%s", why)
	}
	return waiting("boot configuration %s", config.Status.State)
}

func (s *Scenario) machinesBooted(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		boot := latest(c.place.Machine.Record(), c.created)
		server := state.Servers[c.server]
		switch why := mishap(boot); {
		case server == nil:
			return broken("Server %s of claim %s is gone", c.server, c.name)
		case why != "":
			return broken("claim %s: machine of Server %s %s", c.name, c.server, why)
		case boot != nil && boot.Outcome == sim.OutcomeProbe:
			return broken("claim %s: machine of Server %s booted the probe", c.name, c.server)
		case boot != nil && boot.Outcome == sim.OutcomeInstalled && server.Status.PowerState == metalv1.PowerStateOn:
			return done
		case boot != nil && boot.Outcome == sim.OutcomeInstalled:
			return waiting("Server %s: its machine runs, but status.powerState is %s", c.server, server.Status.PowerState)
		case boot != nil:
			return waiting("machine of Server %s: %s", c.server, underWay(boot))
		case said(server.Status.Conditions, metalv1.ConditionBootReady) != "":
			return waiting("Server %s: %s", c.server, said(server.Status.Conditions, metalv1.ConditionBootReady))
		}
		return waiting("machine of Server %s was not powered on", c.server)
	})
}

func (s *Scenario) claimsGone(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		if state.Claims[c.name] != nil {
			return waiting("claim %s still exists after its deletion", c.name)
		}
		return done
	})
}

func (s *Scenario) machinesOff(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		server := state.Servers[c.server]
		switch {
		case server == nil:
			return broken("Server %s is gone", c.server)
		case c.place.Machine.PowerState() == sim.PowerOff && server.Status.PowerState == metalv1.PowerStateOff,
			// It was off before, and may be on for its cleanup by now.
			!state.first(track{kindServer, c.server}, string(metalv1.ServerStateCleanup), c.deleted).IsZero():
			return done
		}
		wait := apimeta.FindStatusCondition(server.Status.Conditions, metalv1.ConditionWaitingForPowerOff)
		if wait == nil {
			return waiting("Server %s: power %s", c.server, server.Status.PowerState)
		}
		return waiting("Server %s: power %s: %s: %s", c.server, server.Status.PowerState, wait.Reason, wait.Message)
	})
}

// serversCleaned looks into the journal: nobody can be sure to see a state that lasts for a moment.
func (s *Scenario) serversCleaned(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		if state.first(track{kindServer, c.server}, string(metalv1.ServerStateCleanup), c.deleted).IsZero() {
			return waiting("Server %s has not been in state Cleanup yet", c.server)
		}
		return done
	})
}

func (s *Scenario) serversAvailable(state *State) verdict {
	return judge(s.claims, func(c *claimed) finding {
		server := state.Servers[c.server]
		if server == nil {
			return broken("Server %s is gone", c.server)
		}
		return available(server).of("Server " + server.Name)
	})
}
