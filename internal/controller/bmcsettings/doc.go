// Package bmcsettings brings the settings of a BMC itself to what a BMCSettings asks for.
//
// A setting is an attribute of the BMC, or "<METHOD> <URI>" with a JSON document that the resource at that URI shall contain (setting.go,
// document.go). Its text may contain variables, which are read from objects (source.go, field.go) and put in (expand.go).
//
// One reconcile reads the object, its BMC, the servers of that and their maintenances, the variables, what the fleet has observed and
// what was last read of the settings into a view (gather.go), decides (decide.go before the work has begun, steps.go while it is under
// way; both pure), and acts (act.go): what is remembered is written first, then a job goes to the fleet, then status is written (status.go).
// No worker waits for a BMC.
//
//	version is the one asked for ──▶ settings are read ──▶ what differs is checked
//	    ──▶ a ServerMaintenance for each server of the BMC is asked for, and granted
//	    ──▶ written ──▶ read ──▶ where they are not so, or the registry says so: the BMC is restarted ──▶ read again until they are so
//	    ──▶ the maintenances are removed: the servers go back to where they were
//
// How far that has come is an annotation of the object (progress.go), for status is a report. Every step can be done again: what is so
// is not sent again, and a BMC may be restarted twice. What the BMC does not show, as it shows no passwords, counts as so once it was sent.
//
// What comes from Secrets is kept behind pointers to [bmc.Secret], and is in no annotation, condition, event or log: with
// such a setting the words of the BMC's errors are left out, for BMCs repeat what they were sent.
package bmcsettings
