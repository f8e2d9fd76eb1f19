// Package streampb is the protocol of the boot stream: bootstream.proto, and the Go code that `make generate` makes of it.
// docs/dev/bootstream.md says what its messages mean; package bootstream speaks it.
package streampb
