// Package bootrelay carries what the manager that leads knows of a boot to the one that looks after the machine, where BMCs are divided among managers.
//
// The leader answers machines, and boot servers without Kubernetes follow it. So it alone knows that a boot attempt is with those who answer, which has
// to be so before the machine is switched on, and it alone is told that somebody else has asked for what is for one machine. Another manager switches
// that machine on. What is between them is in the API: [Relay] (relay.go) writes annotations, [Acknowledged] and [Alarms] (read.go) read them.
//
// An annotation names its attempt, so one that is left from an earlier boot says nothing about a later one. What is lost with the leader costs what a boot
// server costs that is away: the boot waits ten seconds, and goes on (package server).
package bootrelay
