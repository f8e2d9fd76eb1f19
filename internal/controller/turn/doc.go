// Package turn says whose turn it is among the ServerMaintenances of one server.
//
// Two controllers have to agree on that: the one of maintenances, which grants a server that nobody works on, and the one of
// servers, which hands a server on when the maintenance that had it has ended: between two maintenances a server must not be
// anybody's else. All of it is pure.
package turn
