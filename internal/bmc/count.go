package bmc

import (
	"context"
	"sync/atomic"
)

type countKey struct{}

// Counting returns a context under which requests are counted, logins among them, and how many there were.
func Counting(ctx context.Context) (_ context.Context, requests func() int) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, countKey{}, n), func() int { return int(n.Load()) }
}

// count counts a request for whoever asked for that.
func count(ctx context.Context) {
	if n, ok := ctx.Value(countKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
