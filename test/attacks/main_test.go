package attacks

import (
	"testing"

	"github.com/farrier-dev/farrier/test/product"
)

// shared is a product without flags, for tests of what they need no machine and no restart for. Each has namespaces of its own, and UUIDs
// that begin in their own way: aaaaaaaa those of tenants, bbbbbbbb of objects, cccccccc of templates.
var shared = product.NewShared()

func TestMain(m *testing.M) { product.Main(m) }
