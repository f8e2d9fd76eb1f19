// Package viewfile keeps the last view of a boot server on disk, so that it can start while no manager is there.
//
// The file is a sealed log (package sealed). Each Append is durable when it returns, and what Open finds after a crash is what was
// appended up to some batch: never less than what Append has returned for, and never something else. The last record of a key counts;
// whether it may replace the one before is decided by who appends. A mark (bootstream.Progress) says how far the boot server has come and when it heard the
// manager last; records behind the last mark come again when the boot server resumes from it.
//
// A snapshot is written aside and takes the place of everything when it is complete. The file is rewritten when more than half of it is
// no longer needed: its size stays within twice what is needed plus a megabyte, and each byte is rewritten once for each byte appended.
// Records are read back from the file for that; in memory there is only the place of each key.
//
// Deletions are kept, with their version, so that nobody takes an older record for a new one: the newest 65,536 of them.
//
// A file that is damaged, of another format or sealed with another key is an error of Open, by type; nothing of it is used. Create begins an
// empty one.
package viewfile
