// Package changes writes into the logbook what changes at Servers, claims, boot configurations and BMCs: states, power, claims, conditions. It
// sees what the caches see, so a change costs a comparison, and a poll that changes nothing costs nothing.
//
// diff.go finds changes and is pure; watch.go watches.
package changes
