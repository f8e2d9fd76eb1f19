package registry

import (
	"context"
	"strconv"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// TestFewTokensAreKept: of however many repositories.
func TestFewTokensAreKept(t *testing.T) {
	c := &fewTokens{Cache: auth.NewCache()}
	known := func(i int) bool {
		_, err := c.GetToken(t.Context(), "ghcr.io", auth.SchemeBearer, strconv.Itoa(i))
		return err == nil
	}
	for i := range 10 * maxTokens {
		if _, err := c.Set(t.Context(), "ghcr.io", auth.SchemeBearer, strconv.Itoa(i), func(context.Context) (string, error) { return "token", nil }); err != nil {
			t.Fatal(err)
		}
		if !known(i) {
			t.Fatalf("token %d is forgotten at once", i)
		}
		if i >= maxTokens && known(i-maxTokens) {
			t.Fatalf("token %d is still known after %d", i-maxTokens, i)
		}
	}
}
