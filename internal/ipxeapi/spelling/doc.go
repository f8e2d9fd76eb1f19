// Package spelling translates fields of later versions of Profiles and Assignments into those of this version.
//
// Those versions have other names for some fields (profile.go: ipxeTemplate, objectRef, postTransformations), paths into Secrets in place of
// keys (secret.go), and a flag for defaults (assignment.go). The API stores objects as they were written; controllers, admission
// and the importer read them through this package. What this version cannot express is a [Problem] with its field.
package spelling
