// Package reportintake stores what machines tell of themselves: it is the boot server's way to the API
// for probe reports. A report is acknowledged when it is an object of record, not before.
package reportintake
