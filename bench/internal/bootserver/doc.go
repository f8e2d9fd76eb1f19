// Package bootserver is the boot server of benchmarks, with an image cache, in a process of its own.
package bootserver
