// Package golden compares what a test got with a golden file: an expected result that is kept in the tree, so that a reader sees it and a review
// sees how it changes.
//
// The flag -update writes the files anew instead. Look at what it has changed before you commit it:
//
//	go test ./internal/cli -run TestIPXE -update
package golden
