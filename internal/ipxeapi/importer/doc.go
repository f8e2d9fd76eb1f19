// Package importer converts the configuration of other network boot services into Profiles and
// Assignments.
//
// [Matchbox] reads a data folder of matchbox: groups, profiles and the templates they refer
// to (matchbox.go, matchbox_profile.go). [Manifests] reads later spellings of the iPXE API
// (manifests.go). The [Result] has the objects, and a [Note] for every file that
// could not be used and for every difference (result.go, ranking.go).
//
// The importer guesses nothing. It leaves out a file that these objects cannot express, and names it.
package importer
