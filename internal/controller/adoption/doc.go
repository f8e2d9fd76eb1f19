// Package adoption makes Endpoints of what DHCP sees: a BMC that is plugged into the management network becomes a BMC object, and its systems become Servers.
//
//	DHCP ──▶ Seen ──▶ decide: a client of ours, what there is already ──▶ create or move an Endpoint, or nothing
//
// Anybody on the segment can invent MAC addresses. So a client counts only if the MAC prefix database knows its prefix as that of a BMC, and if it is no
// machine: Farrier writes a few Endpoints a minute, never more of them than there are addresses, and deletes none. An Endpoint that has no LabelAdopted is somebody's
// own and stays as it is.
//
//   - decide.go is the decision: pure.
//   - controller.go reads what it needs and acts on it.
//   - waiting.go has the clients whose turn has not come yet.
package adoption
