// Package screen draws on a terminal what the subcommands show to people: tables that fit, a picture that is redrawn in place, and the
// same as plain lines where there is no terminal. It makes every text from outside harmless before it prints it.
//
//	table.go     rows and columns that fit a width
//	live.go      redraws a Source on a terminal, or prints its news as lines elsewhere
//	terminal.go  what is known of the terminal
//	paint.go     the few colours, and widths of text; states.go the states of servers, counted and coloured
package screen
