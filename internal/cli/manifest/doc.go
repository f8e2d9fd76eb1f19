// Package manifest reads the Sets and RolloutPolicies of a file that nobody has applied yet. It refuses what the API would refuse, and names the
// document and the field: the schemas are those of the CRDs, the rules those of admission. Nothing is written.
//
//	document.go   a file becomes documents, and lists become their items
//	read.go       documents become Sets and RolloutPolicies
//	schema.go     what the schema of a CRD says of an object
package manifest
