// Package printable makes text that somebody else has written harmless to keep and to show: what a machine, a BMC, a boot server or another
// program says may hold control characters that move a cursor, characters that reorder text, or bytes that are no UTF-8.
package printable
