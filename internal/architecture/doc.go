// Package architecture holds the shape of the source tree, as tests.
//
// The tree is cut into rooms, and imports go one way between them (the
// picture is in docs/dev/architecture.md). A wall that only stands in a document
// falls within a year; these tests read the real import graph, as the go
// command reports it, and name the import that crosses a wall together with
// the reason the wall was built for.
//
//   - rooms_test.go is the table: a row for every room, what it may import
//     and what it must never reach. A new room needs a new row.
//   - walls_test.go holds the graph against the table. Both are data, so the
//     check itself is tested on small invented graphs.
//   - files_test.go holds the order of files inside a package whose reading goes
//     one way.
//   - shadow_test.go wants a name to mean one thing in a file.
//   - layout_test.go keeps what a reader relies on: a doc.go for a package,
//     names that say something, files that fit in a head.
//
// Only what ships is judged. A test file may import what it needs to stand
// its subject up: the tests of the Redfish client talk to the simulated rack.
package architecture
