// Package logbook keeps, in order of time, what Farrier did to each machine and saw of it: commands to its BMC with outcome and duration, the
// requests of its boots, and each change of a state, a condition or a claim.
//
// A Book holds the newest entries in memory. Where it has a directory it also appends them to segments there, so that they outlive the process.
// Write never waits: what the queue to the disk does not hold is counted and dropped, and so is what a full or broken disk does not take. Nothing
// that is found on the disk stops anything: a line that cannot be read, such as the last one before a crash, is skipped.
//
//   - entry.go: what an entry is. book.go: writing, the queue and reading. ring.go: memory. segment.go: files.
package logbook
