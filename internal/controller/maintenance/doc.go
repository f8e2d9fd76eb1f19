// Package maintenance grants servers to ServerMaintenances, one at a time for each server.
//
// A reconcile is about one maintenance and looks at all of its server. It reads server, claim and
// the other maintenances of that server into a view, decides (decide.go, pure: who may have the
// server, and what the others wait for), and acts (act.go): it asks the owner of the claim
// by a label (claim.go), makes the boot configuration of the template (boot.go), and takes
// the server with one patch that fails if anybody wrote in between.
//
// What is remembered stands in the Server: spec.serverMaintenanceRef says who has it,
// spec.maintenanceBootConfigurationRef what it boots meanwhile. Status is a report. What is done
// to the machine while it is had, and how it is given back, is the Server's own state
// Maintenance (internal/controller/server/maintenance.go): a maintenance that is being deleted is kept
// by its finalizer until its server has let go of it.
package maintenance
