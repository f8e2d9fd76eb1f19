package server

import (
	"strconv"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Annotations of a Server that this package alone writes and reads.
const (
	// annotationDiscoveryFailures counts the discoveries that timed out in a row.
	annotationDiscoveryFailures = "farrier.dev/discovery-failures"
	// annotationDiscoveryNotBefore is the time of the next discovery after one that timed out.
	annotationDiscoveryNotBefore = "farrier.dev/discovery-not-before"
	// annotationShutdown is the start of a graceful shutdown that ends by force after its budget, and its purpose:
	// <purpose>@<RFC 3339>.
	annotationShutdown = "farrier.dev/shutdown"
	// annotationMaintenanceBoots is the boot configuration that a maintenance booted. What it left on the machine is not the
	// claim's, even where no object tells of it any more.
	annotationMaintenanceBoots = "farrier.dev/maintenance-boots"
	// annotationNotClean says why cleaning failed. It is there as long as the taint.
	annotationNotClean = "farrier.dev/not-clean-because"
)

// Reasons of conditions.
const (
	// reasonCleaning is a reason of Cleaned: the cleanup is running.
	reasonCleaning = "InProgress"
	// reasonBMCNotFound is a reason of Ready: the BMC that spec.bmcRef names does not exist.
	reasonBMCNotFound = "BMCNotFound"
	// reasonSystemAmbiguous is a reason of Ready: several systems of the BMC report the server's UUID.
	reasonSystemAmbiguous = "SystemAmbiguous"
	// reasonNoBMC is a reason of Ready: the server names no BMC.
	reasonNoBMC = "NoBMC"
	// reasonDuplicate is a reason of Discovered: another Server is the same machine.
	reasonDuplicate = "SystemTaken"
	// reasonCommandFailed is a reason of the conditions about power.
	reasonCommandFailed = "CommandFailed"
)

// Conditions that only some servers have.
const (
	// conditionDeletionWaits says why a deleted server still exists.
	conditionDeletionWaits = "DeletionWaits"
	// conditionForeignMaintenance says that a maintenance of another API group has the server.
	conditionForeignMaintenance = "ForeignMaintenance"
	// conditionIdentified is on servers whose BMC reports no UUID that identifies a machine, and whose probe reported none either, or
	// another server's.
	conditionIdentified = "Identified"
	// conditionIndicator reports whether the indicator light shows what spec asks for.
	conditionIndicator = "IndicatorApplied"
	// conditionBootOrder reports whether the boot order begins as spec asks for.
	conditionBootOrder = "BootOrderApplied"
)

// conditionLate says that a server stays longer in its state than usual.
const conditionLate = "Late"

// discoveryFailures counts the discoveries that timed out since the last report.
func discoveryFailures(server *metalv1.Server) int {
	n, err := strconv.Atoi(server.Annotations[annotationDiscoveryFailures])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// discoveryNotBefore is the earliest time of the next discovery; zero: any time.
func discoveryNotBefore(server *metalv1.Server) time.Time {
	t, err := time.Parse(time.RFC3339, server.Annotations[annotationDiscoveryNotBefore])
	if err != nil {
		return time.Time{}
	}
	return t
}

// shutdownSince is the start of the graceful shutdown for that purpose; zero: none is remembered.
func shutdownSince(s *metalv1.Server, purpose string) time.Time {
	noted := s.Annotations[annotationShutdown]
	cut := strings.LastIndexByte(noted, '@')
	if cut < 0 || noted[:cut] != purpose {
		return time.Time{}
	}
	since, err := time.Parse(time.RFC3339, noted[cut+1:])
	if err != nil {
		return time.Time{}
	}
	return since
}

// bootRef names what the server boots now: in maintenance the maintenance's boot configuration, or none.
func bootRef(server *metalv1.Server) *metalv1.ObjectReference {
	if server.Spec.ServerMaintenanceRef != nil {
		return server.Spec.MaintenanceBootConfigurationRef
	}
	return server.Spec.BootConfigurationRef
}
