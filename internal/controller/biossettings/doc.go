// Package biossettings brings the settings of a server's BIOS to what a BIOSSettings asks for.
//
// One reconcile reads the object, its server, its maintenance, what the fleet has observed and what was last
// read of the BIOS into a view (gather.go), decides (decide.go before the work has begun, steps.go while it
// is under way; both pure), and acts (act.go): what is remembered is written first, then a job or
// a command goes to the fleet, then status is written (status.go). No worker waits for a BMC.
//
//	version is the one asked for ──▶ settings are read ──▶ what differs is checked against the registry, and what waits at the BMC
//	    ──▶ a ServerMaintenance of its own is asked for, and granted
//	    ──▶ for each part of the flow that differs: written ──▶ off ──▶ on ──▶ read again until they are so
//	    ──▶ off again, the maintenance is removed: the server goes back to where it was
//
// How far that has come is an annotation of the object (progress.go), for status is a report. Every step can
// be done again: a setting that waits at the BMC already is not written twice, and power commands do nothing where
// the power is right. The exclusive lock keeps others off the BMC while settings are applied.
package biossettings
