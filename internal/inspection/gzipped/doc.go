// Package gzipped compresses what is kept in objects of record (RFC 1952).
//
// A compressor has 800 KiB of tables. One for each report would be a seventh of all memory that a manager asks for while
// it onboards a fleet, so they are used again.
package gzipped
