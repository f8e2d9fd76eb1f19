// Package maintenancerequest asks for the servers that an object needs to itself while it changes what they run on: BIOS
// settings, firmware, or the BMC that several of them share.
//
// A Request says for whom, which servers, and by which policy (request.go). Look reads how each of them stands (look.go): whether there is
// such a Server, the ServerMaintenance that asks for it, and whether that has it. A Standing is data, and answers what
// decisions ask: are all granted, and what is waited for. Ask creates the maintenances that are missing, and End deletes those
// that were created here (act.go); both can be done again at any time.
//
//	server ──▶ ServerMaintenance that a person named in spec: waited for, never deleted
//	       └─▶ otherwise one of our own, owned by the object: Ask creates it, End deletes it
//
// Who creates a maintenance records it in spec of the object, after it was created: its name follows from the object and the server, so that
// one whose record was lost is found again. A maintenance of that name that belongs to somebody else is never taken for ours.
package maintenancerequest
