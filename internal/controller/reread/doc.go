// Package reread reads Secrets and BMCSecrets from the API once for each version of them.
//
// Their contents are in no cache: there may be tens of thousands, and most are read only while a machine is found, or booted.
// But while it is, each is looked at ten times within seconds, and a read past the caches costs as much as a third of a
// write. Caches do have the metadata of all, and that tells whether what was read before, or written through Client, is still
// what there is.
//
// What was read or written last is kept, of a bounded number of them. It is never older than what was written through Client. It may
// be older than what the API has by as much as a cache may lag, and a change wakes whoever uses it, so decisions are as good as with a cache: they are written with an optimistic lock before
// anything is done.
//
// What is written through Client is never read back by it in an older version, of whatever kind: written.go.
package reread
