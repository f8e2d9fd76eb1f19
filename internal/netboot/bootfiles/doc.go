// Package bootfiles opens network boot programs in a directory. Nothing outside of the directory can be reached through it, whatever
// links it holds: it works on an os.Root, and opens regular files alone.
package bootfiles
