//go:build linux

package pid1

import (
	"testing"
	"time"
)

func TestSettled(t *testing.T) {
	for _, c := range []struct {
		name string
		link linkState
		want bool
	}{
		{"may find its partner yet", linkState{found: carrierTime - time.Second}, false},
		{"has none", linkState{found: carrierTime}, true},
		{"asks for an address", linkState{carrier: true, found: addressTime - time.Second}, false},
		{"has one", linkState{carrier: true, address: true}, true},
		{"gets none", linkState{carrier: true, found: addressTime}, true},
		{"lost its partner", linkState{address: true, found: time.Second}, false},
	} {
		if got := c.link.settled(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
