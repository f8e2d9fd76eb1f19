// Package importer converts the configuration of other network boot services into Profiles and
// Assignments.
//
// [Matchbox] reads a data folder of matchbox: groups, profiles and the templates they refer
// to (matchbox.go, matchbox_profile.go). [Manifests] reads manifests: it translates other spellings of the iPXE API (manifests.go and the file
// of each kind), and takes objects of metal-operator and boot-operator as they are (manifests_object.go). The [Result] has the objects, and a
// [Note] for each file or object: what became of it, how it differs, or why it is left out (result.go, ranking.go).
//
// The importer guesses nothing. It leaves out a file that these objects cannot express, and names it with the field and the reason.
package importer
