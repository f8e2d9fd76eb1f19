// Package spelling says Profiles and Assignments of later versions of their API in the words of this one.
//
// Those versions have other names for some fields (profile.go: ipxeTemplate, objectRef, postTransformations), paths into Secrets in place of
// keys (secret.go), and a flag for defaults (assignment.go). Objects are stored as they were written; whoever reads their meaning reads it
// through here: controllers, admission and the importer. What cannot be said here is a [Problem] with its field.
package spelling
