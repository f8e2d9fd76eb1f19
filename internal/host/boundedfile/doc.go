// Package boundedfile reads files that people name, such as certificates and keys, and never more of one than it may have.
package boundedfile
