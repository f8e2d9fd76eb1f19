// Package meminfo reads what Linux tells of the memory of the host.
package meminfo
