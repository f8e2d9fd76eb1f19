// Package atomicfile replaces files so that no reader, and no crash, finds half of one.
package atomicfile
