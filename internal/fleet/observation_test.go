package fleet

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
)

func TestSameError(t *testing.T) {
	failure := func(change func(*bmc.Error)) error {
		e := &bmc.Error{Kind: bmc.KindServer, Op: "GET /s", StatusCode: 500, Message: "ill", RetryAfter: time.Second, Err: errors.New("from port 4711")}
		change(e)
		return e
	}
	nothing := func(*bmc.Error) {}
	for name, tc := range map[string]struct {
		a, b error
		same bool
	}{
		"none":                        {nil, nil, true},
		"one":                         {failure(nothing), nil, false},
		"made anew":                   {failure(nothing), failure(func(e *bmc.Error) { e.Err = errors.New("from port 4712") }), true},
		"asked to wait longer":        {failure(nothing), failure(func(e *bmc.Error) { e.RetryAfter = time.Minute }), true},
		"another status":              {failure(nothing), failure(func(e *bmc.Error) { e.StatusCode = 503 }), false},
		"another cause":               {failure(nothing), failure(func(e *bmc.Error) { e.Message = "worse" }), false},
		"wrapped anew":                {fmt.Errorf("%w: waited 1s: %w", ErrNotBegun, failure(nothing)), fmt.Errorf("%w: waited 2s: %w", ErrNotBegun, failure(nothing)), true},
		"wrapped with another":        {fmt.Errorf("%w: %w", ErrNotBegun, failure(nothing)), fmt.Errorf("%w: %w", ErrNotTaken, failure(nothing)), false},
		"without its cause":           {fmt.Errorf("%w: %w", ErrNotBegun, failure(nothing)), ErrNotBegun, false},
		"of another kind, like words": {errors.New("x"), errors.New("x"), false},
	} {
		if got := sameError(tc.a, tc.b); got != tc.same {
			t.Errorf("%s: %t", name, got)
		}
		if got := sameError(tc.b, tc.a); got != tc.same {
			t.Errorf("%s, the other way round: %t", name, got)
		}
	}
}
