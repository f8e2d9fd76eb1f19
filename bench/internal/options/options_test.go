package options

import (
	"slices"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	if got, err := Sizes("100,1000", 30); err != nil || !slices.Equal(got, []int{100, 1000}) {
		t.Errorf("100,1000: %v, %v", got, err)
	}
	for _, text := range []string{"", "100,", "ten", "29", "-1"} {
		if got, err := Sizes(text, 30); err == nil || !strings.HasPrefix(err.Error(), "-servers: ") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
