// Package index defines the indexes by which controllers look objects up in their
// caches. They are registered once, before any controller, so that controllers
// share them.
package index
