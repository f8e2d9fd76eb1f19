// Package program runs programs of this module as a benchmark's processes: built as they are released, watched from
// outside by what the kernel says of them.
package program
