// Package sealedtest has what tests of sealed files need: keys, and directories that end with the test.
package sealedtest
