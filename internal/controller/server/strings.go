package server

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
