// Package sbom writes a bill of materials (CycloneDX) of programs, from what the go command has recorded in them: every module that is linked, with its
// version, and Go itself. It records no time of its own: the same programs give the same bill.
package sbom
