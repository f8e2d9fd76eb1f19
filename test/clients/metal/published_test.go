package metal

import (
	"testing"

	"github.com/farrier-dev/farrier/test/clients/farrier"
)

// TestAsPublished: the client is built with the versions that its own module names, and not with Farrier's.
func TestAsPublished(t *testing.T) {
	farrier.AsPublished(t, "github.com/ironcore-dev/metal-operator")
}
