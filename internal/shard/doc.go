// Package shard says which manager looks after which BMC where several managers share an installation. It is pure.
//
// BMCs are divided into a fixed number of shards. [Of] says which shard a BMC is in: its name says so for ever, so a BMC never moves between shards.
// [Holders] divides the shards among the managers that are alive. All managers come to the same answer from the same facts, and only those shards change
// hands that have to when a manager comes or goes. Neither keeps two managers from acting on one shard: that is what a Lease of each shard is for (internal/system).
package shard
