package stats

import "testing"

func TestQuantile(t *testing.T) {
	values := []int{5, 1, 4, 2, 3}
	for q, want := range map[float64]int{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := Quantile(values, q); got != want {
			t.Errorf("Quantile(%v) = %d, want %d", q, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
	if got := Median([]float64(nil)); got != 0 {
		t.Errorf("median of nothing: %v", got)
	}
}
