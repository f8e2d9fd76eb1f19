// Package server is the life of a Server: a state machine whose decisions are pure and whose actions are thin.
//
// A reconcile runs one way, and so does reading (internal/architecture keeps the order of the files):
//
//   - connect.go binds the server to the actor of its BMC.
//   - gather.go and gather_maintenance.go read everything into a View (view.go), and write nothing.
//   - states.go derives from the view which phase the server is in. Its tables are docs/server-states.md.
//   - decide.go asks that phase what to do: decide_discovery.go (Initial, Discovery), decide_reserved.go (Reserved, and its end),
//     decide_cleanup.go, decide_maintenance.go, and decide_idle.go (Available, Released, Parked, Error). decide_probeboot.go begins
//     another discovery on request. decide_settings.go adds what does not depend on the phase, decide_operation.go what a person
//     requests. They share the steps in power.go, boot.go, progress.go and firmware.go.
//   - The answer is a Plan (plan.go): data, with the changes of the Server as a list of Edits (edit.go).
//   - act.go and act_probe.go carry it out. What must survive is written first, and a command goes to the BMC only when the fact
//     that orders it has been read back.
//   - report.go writes status last, and not while a plan awaits what is usually over in a moment. conditions.go and inventory.go are
//     what it says.
//
// Status is a report. No decision reads it: a wiped status, a restart or another leader derives the same phase and does nothing to a
// running machine.
//
// A new state is a row in states.go, a rule beside the others, a decision, and its row in decide.go. The test that walks through all
// facts names the transitions that are missing.
package server
