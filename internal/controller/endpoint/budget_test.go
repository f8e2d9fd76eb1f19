package endpoint

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWritesOfAnEndpoint: each of these is one of ten thousand. The Endpoint itself is not written to.
func TestWritesOfAnEndpoint(t *testing.T) {
	api := controllertest.NewAPI(t, endpoint("e", acme))
	api.Settle(t, reconciler(t, api), "e")
	for kind, most := range map[string]int{"Endpoint": 0, "BMC": 1, "BMCSecret": 1, "": 2} {
		if w := api.Writes(kind); len(w) > most {
			t.Errorf("writes to %q: %v, want %d at most", kind, w, most)
		}
	}
}
