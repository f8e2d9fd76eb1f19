package attacks

import (
	"testing"

	"github.com/farrier-dev/farrier/test/product"
)

func TestMain(m *testing.M) { product.Main(m) }
