// Package setup makes what answers machines of flags: the boot server inside of a manager, and the one that stands apart from it. Both have
// the same flags, with the same names and meanings, because they are here and nowhere else.
//
//	Options    what flags say; Bind… binds them, group by group
//	Settings   the same after Check: what cannot work is refused by the name of its flag
//
// Settings fill in the configuration of a bootserver.Server, find out under which URLs machines reach it, read the certificate that machines
// are shown, and make the cache of images. What else a boot server needs (a view, somebody to report to) is its owner's affair.
package setup
