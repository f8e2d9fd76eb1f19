// Package gzipped compresses what is kept in objects of record (RFC 1952).
//
// A compressor has 800 KiB of tables, a decompressor 44 KiB. A compressor for each report would be a seventh of all memory that a manager asks for
// while it onboards a fleet, and a decompressor for each record a fiftieth of what it asks for at a start, so they are used again.
package gzipped
