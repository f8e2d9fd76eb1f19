// Package logging writes for a person at a terminal: log lines that can be read at a glance.
package logging
