package server

import (
	"strconv"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// What is remembered of a server besides what the API's own package names.
const (
	// annotationDiscoveryFailures counts the discoveries that timed out in a row.
	annotationDiscoveryFailures = "farrier.dev/discovery-failures"
	// annotationDiscoveryNotBefore is when discovery is tried again after it has timed out.
	annotationDiscoveryNotBefore = "farrier.dev/discovery-not-before"
	// annotationParkedOff says that a parked server was asked to shut down; it is asked once. Its value
	// is of no meaning beside being new each time.
	annotationParkedOff = "farrier.dev/parked-off"
	// annotationShutdown is since when a machine is asked to shut down that is forced off after its budget, and for
	// what: <what that serves>@<RFC 3339>.
	annotationShutdown = "farrier.dev/shutdown"
	// annotationMaintenanceBoots is the boot configuration of a maintenance that was booted: what it left on the machine is not the claim's,
	// even where nothing else tells of it any more.
	annotationMaintenanceBoots = "farrier.dev/maintenance-boots"
	// annotationNotClean says why a server could not be made clean, for as long as it is tainted for that.
	annotationNotClean = "farrier.dev/not-clean-because"
)

// reasonCleaning is the reason of the condition Cleaned while a server is being cleaned.
const reasonCleaning = "InProgress"

// reasonBMCNotFound is a reason of the condition Ready: spec.bmcRef leads nowhere.
const reasonBMCNotFound = "BMCNotFound"

// reasonSystemAmbiguous is a reason of the condition Ready: several systems of the BMC tell the server's UUID.
const reasonSystemAmbiguous = "SystemAmbiguous"

// reasonNoBMC is a reason of the condition Ready: a server without BMC.
const reasonNoBMC = "NoBMC"

// conditionDeletionWaits is on servers alone that are being deleted and are kept for now.
const conditionDeletionWaits = "DeletionWaits"

// conditionForeignMaintenance says that somebody works on the server whose API group is not ours.
const conditionForeignMaintenance = "ForeignMaintenance"

// conditionLate says that a server is longer in its state than is usual.
const conditionLate = "Late"

// discoveryFailures counts the discoveries that timed out since the last report.
func discoveryFailures(server *metalv1.Server) int {
	n, err := strconv.Atoi(server.Annotations[annotationDiscoveryFailures])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// discoveryNotBefore is when discovery may be tried again; zero: at any time.
func discoveryNotBefore(server *metalv1.Server) time.Time {
	t, err := time.Parse(time.RFC3339, server.Annotations[annotationDiscoveryNotBefore])
	if err != nil {
		return time.Time{}
	}
	return t
}

// shutdownSince is since when the machine is asked to shut down for what that serves; zero: nothing is remembered of it.
func shutdownSince(s *metalv1.Server, serves string) time.Time {
	noted := s.Annotations[annotationShutdown]
	cut := strings.LastIndexByte(noted, '@')
	if cut < 0 || noted[:cut] != serves {
		return time.Time{}
	}
	since, err := time.Parse(time.RFC3339, noted[cut+1:])
	if err != nil {
		return time.Time{}
	}
	return since
}

// bootRef is what the server boots now: in maintenance what that brings, or nothing.
func bootRef(server *metalv1.Server) *metalv1.ObjectReference {
	if server.Spec.ServerMaintenanceRef != nil {
		return server.Spec.MaintenanceBootConfigurationRef
	}
	return server.Spec.BootConfigurationRef
}

func annotate(s *metalv1.Server, key, value string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
}

func setOrDelete(s *metalv1.Server, key, value string) {
	if value == "" {
		delete(s.Annotations, key)
		return
	}
	annotate(s, key, value)
}

// forgetFailures lets discovery begin as if it had never failed.
func forgetFailures(s *metalv1.Server) {
	delete(s.Annotations, annotationDiscoveryFailures)
	delete(s.Annotations, annotationDiscoveryNotBefore)
}

func withoutTaint(taints []metalv1.Taint, key string) []metalv1.Taint {
	var kept []metalv1.Taint
	for _, t := range taints {
		if t.Key != key {
			kept = append(kept, t)
		}
	}
	return kept
}

// release lets probes wipe again.
func release(s *metalv1.Server) { delete(s.Annotations, metalv1.AnnotationCleanupHeld) }

// clearPower takes away what is accepted and means nothing: the power of a server is what its claim or its
// maintenance asks for.
func clearPower(s *metalv1.Server) bool {
	asked := s.Spec.Power != ""
	s.Spec.Power = ""
	return asked
}
