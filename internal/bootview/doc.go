// Package bootview holds what each machine gets when it asks a boot server:
// its script, its ignition payload, the URL of the file that its firmware boots.
//
// It is pure and in memory. Controllers put Entries, one for each boot object
// (an IPXEBootConfig, an HTTPBootConfig); boot servers look Machines up. The view
// decides an answer when an entry changes, never when a machine asks, so that
// a request is a lookup and a write.
//
//	Put, Delete ──▶ entries ──▶ resolve, touched identifiers only ──▶ slots
//	                                                                    │
//	ByUUID, Find, ByAddress, ByToken ◀── *Machine, immutable ◀──────────┘
//
// # What decides
//
// Every identifier (UUID, MAC, IP, serial number, token) has a slot. The answer of
// a slot depends only on the entries that carry the identifier, and not on
// the order in which they arrived:
//
//   - Only entries of the strongest Rank count: a boot configuration that a
//     Server refers to takes precedence over every one written by hand, and
//     the view never serves a Stale entry.
//   - Entries of different kinds combine: the script comes from the
//     IPXEBootConfig and the UKI from the HTTPBootConfig of one machine.
//   - Two entries of one kind and rank are a Conflict. So are two machines behind
//     one address. The view picks neither; Conflicts names the other entry.
//
// # Scripts
//
// A Script is a template with holes where the base URL of the answering boot server
// goes, so that one view feeds boot servers of several sites. DefaultScript, ExitScript,
// ChainloadScript and CustomScript make them. Values that come from objects are checked
// when they enter the template: a newline in a URL would otherwise be a command that its author runs
// on the machine.
//
// # Cost
//
// A read is one map lookup under a read lock, and does not allocate. A write costs as much as the entries that share an identifier with it,
// whatever the size of the view. A machine with two MACs, an address, a serial number, an
// open attempt and the default script costs about 1.2 KiB of heap (TestBudgetOfAMachine: 1195 bytes),
// without its ignition payload: a Machine refers to its entries. What machines of an image share is kept once: the text of a script, the URL of a file;
// and so is what two entries of a machine share: identifiers, token, session, their place in the index.
package bootview
