// Package readcache holds what this process has read and written, where the caches do not, or not yet.
//
// [Reader] (readcache.go) reads Secrets and BMCSecrets once per version. No cache holds their contents: there may be tens of
// thousands, and most are read only while a machine is discovered or boots. But then each is read ten times within seconds, and a read
// past the caches costs as much as a third of a write. The caches hold the metadata of all, which tell whether what was read
// or written before is still current. Reader keeps a bounded number of them. They lag behind the API no more than a cache
// does.
//
// [Reader.Client] (client.go) is the read-your-writes client of all controllers: it never reads back an older version than was written
// through it. A List is as old as the cache: whoever writes an object of a list reads it by Get first.
package readcache
