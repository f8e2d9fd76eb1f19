// Package program builds Farrier's programs for a platform, with the flags that make the same bytes of the same commit on every machine.
package program
