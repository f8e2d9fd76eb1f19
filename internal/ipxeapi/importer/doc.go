// Package importer turns what other network boot services are configured with into Profiles and
// Assignments.
//
// [Matchbox] reads a data folder of matchbox: groups, profiles and the templates they refer
// to (matchbox.go, matchbox_profile.go). [Manifests] reads later spellings of the iPXE API
// (manifests.go). What comes out is a [Result]: the objects, and a [Note] for every file that
// could not be used and everything that will be different (result.go, ranking.go).
//
// Nothing is guessed. A file that says what cannot be said here is left out and named.
package importer
