// Package cli is the farrier command, one file for each subcommand. It turns flags into options, starts what they ask for, and
// prints results for people. What it starts lives in other packages.
package cli
