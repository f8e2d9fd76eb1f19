package stats

import (
	"cmp"
	"slices"
)

// Median of values, which are left as they are; zero for none.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }

// Quantile q (0 to 1) of values by nearest rank; zero for none.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q * float64(len(sorted)))
	return sorted[min(max(rank, 0), len(sorted)-1)]
}
