// Package configfile gives a command the flag --config: a YAML file that sets the other flags by name.
//
//	boot-address: ":8082"
//	power-off-budget: 10m
//	allowed-registries: [ghcr.io, registry.example.org]
//
// A value is written as on the command line, and a list is a YAML list. What the command line sets takes precedence. The file is read
// once, before the command runs. What is wrong with it is told with file, line and key, all of it at once.
//
// Bind adds the flag (bind.go), parse makes settings of the file (document.go), and apply sets the flags (apply.go).
package configfile
