package claim

import (
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestWhatAClaimWantsCleanedOutlivesIt: it is written with the mark, because the claim may be gone a moment later.
func TestWhatAClaimWantsCleanedOutlivesIt(t *testing.T) {
	for _, wish := range []string{"", "full,boot-order"} {
		api := controllertest.NewAPI(t, free("s", func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationClaimCleanup: "of the claim before"}
		}), newClaim("c", func(c *metalv1.ServerClaim) {
			c.Annotations = map[string]string{metalv1.AnnotationCleanup: wish}
		}))
		api.Settle(t, newReconciler(api), "ns/c")
		checkBound(t, api, "c", "s")
		if got := readServer(t, api, "s").Annotations[metalv1.AnnotationClaimCleanup]; got != wish {
			t.Errorf("the server remembers %q, the claim wanted %q", got, wish)
		}
		if w := api.Writes("Server"); len(w) != 1 {
			t.Errorf("the Server was written to %d times: %v", len(w), w)
		}
	}
}
