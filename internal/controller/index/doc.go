// Package index names the ways in which controllers look objects up in their
// caches other than by name. They are registered once, before any controller, so
// that two controllers can share one.
package index
