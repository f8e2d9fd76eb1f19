package server

// What is remembered of a server besides what the API's own package names.
const (
	// annotationDiscoveryFailures counts the discoveries that timed out in a row.
	annotationDiscoveryFailures = "farrier.dev/discovery-failures"
	// annotationParkedOff says that a parked server was asked to shut down; it is asked once.
	annotationParkedOff = "farrier.dev/parked-off"
)

// conditionLate says that a server is longer in its state than is usual.
const conditionLate = "Late"
