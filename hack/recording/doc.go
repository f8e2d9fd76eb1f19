// Command recording runs a command in a terminal and writes what is seen there as an SVG picture that moves: `make recording` makes docs/demo.svg of
// `farrier demo`.
//
// terminal.go runs the command and looks at its terminal, picture.go draws what it has seen.
package main
