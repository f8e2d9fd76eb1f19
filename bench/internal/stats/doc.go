// Package stats has the few numbers that benchmarks are told in.
package stats
