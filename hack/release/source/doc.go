// Package source says of what a release is made: the version, the commit and its time, and whether the tree is the commit.
package source
