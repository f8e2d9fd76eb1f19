// Package records translates between what boot servers answer from and the records of the boot stream, in both directions.
//
//	bootview.View, profile.View, bootview.Instances,   ──▶ Source ──▶ Sink … boot stream … ──▶ Views ──▶ the same, at the boot server
//	pins of the image cache, settings
//
// At the manager a [Source] observes the views: every change becomes a record before the change returns, in the order of the
// changes. At the boot server [Views] make the same views of the records again. A record that cannot be used is refused with
// an error and changes nothing, so that the last good one goes on being served. Records of a newer manager are used as far as this
// version understands them.
//
// # Keys
//
// The key of a record says what it is about, whether it comes or goes:
//
//	IPXEBootConfig/<namespace>/<name>, …    an entry of the boot view, under its own name
//	Profile/<namespace>/<name>              a profile as it is now
//	ProfileBefore/<namespace>/<name>        its revision before: machines that were given that script still fetch its configs
//	Assignment/<namespace>/<name>
//	Instance/<name>
//	Image/<owner>                           what an owner has pinned
//	Settings
//
// # What is secret
//
// The token, the token of the BMC and the ignition payload of an entry are in its record only while its boot is open
// ([bootview.Attempt.IsOpen]); an entry that is never served has neither script nor payload. A boot server that holds them loses them
// with the next record of the entry. Payloads are kept once for all machines that have the same, and not longer than some machine has
// them.
//
// # Cost
//
// A change costs the same, however many machines there are. A machine that is not about to boot costs a boot server as much as it costs a
// manager (package bootview), and one that is costs no more where it shares its payload.
package records
