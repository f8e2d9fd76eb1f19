// Package changelog reads CHANGELOG.md: which versions it has, and what is said of one. A release is refused without a section of its own.
package changelog
