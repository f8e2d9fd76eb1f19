// Package debian makes the Debian package of the programs: manual pages, completions of shells, and a hardened systemd unit for `farrier up` as a user
// of its own. What is in files/ is installed as it is.
package debian
