// Package options holds the flags that benchmarks have in common.
package options
