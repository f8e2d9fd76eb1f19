// Package cli is the farrier command: a file a subcommand. It turns flags into options, starts what they
// ask for, and writes for people; what it starts is in other packages.
package cli
