package bmc

import (
	"errors"
	"fmt"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// standFor finds for each system the index of the Server that stands for it, -1 where there is none. Of several the one counts that has its
// UUID, and then the one that has its URI.
func standFor(servers []metalv1.Server, systems []fleet.SystemObservation) []int {
	of, ranks := make([]int, len(systems)), make([]int, len(systems))
	for i := range of {
		of[i] = -1
	}
	for i := range servers {
		at, _ := connection.SystemOf(&servers[i], systems)
		if at < 0 {
			continue
		}
		rank := 1
		if systems[at].UUID != "" && identity.MachineUUID(servers[i].Spec.SystemUUID) == systems[at].UUID {
			rank += 2
		}
		if servers[i].Spec.SystemURI == systems[at].URI {
			rank++
		}
		if rank > ranks[at] {
			of[at], ranks[at] = i, rank
		}
	}
	return of
}

// sharedUUIDs are the URIs of the systems of each UUID that several of them tell.
func sharedUUIDs(systems []fleet.SystemObservation) map[string][]string {
	shared := map[string][]string{}
	for i := range systems {
		if uuid := systems[i].UUID; uuid != "" {
			shared[uuid] = append(shared[uuid], systems[i].URI)
		}
	}
	for uuid, uris := range shared {
		if len(uris) < 2 {
			delete(shared, uuid)
		}
	}
	return shared
}

// refuseShared notes that no Servers are made of systems that tell the same UUID, as nodes of one chassis with the defaults of their maker do: when one of
// them boots, nobody could say which it is.
func (s *scope) refuseShared(uuid string, uris []string) {
	s.refused = errors.Join(s.refused, fmt.Errorf(
		"systems %s report the same UUID %s, but the boot server tells machines apart by UUID: Farrier creates no Server for those without one. Give each system its own UUID in its board settings", some(uris), uuid))
}
