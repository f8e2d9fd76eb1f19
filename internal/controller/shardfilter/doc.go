// Package shardfilter shows the controllers of one shard the BMCs of that shard alone, and what belongs to these.
//
// A [Filter] (filter.go) says whether an object is of its shard: a BMC by its name, a Server by its BMC, and so are the objects that are about one BMC or
// one Server. [Filter.Manager] (manager.go) makes a manager for controllers that look after such objects. To them an object of another shard does not
// exist: nothing of it is reconciled, and Get does not find it. Lists are not filtered, because whoever looks for rivals, such as a second Server of the
// same machine, has to see all.
//
// Which shard a BMC is in never changes (package shard). An inline BMC is in the shard that its address names. So a BMC that a BMC object and an inline
// Server name both, or two BMC objects, can be in two shards, which two managers look after: describe each BMC once.
package shardfilter
