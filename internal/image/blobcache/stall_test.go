package blobcache

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// dripping sends so many bytes at a time, until its context ends.
type dripping struct {
	ctx   context.Context
	bytes int
	every time.Duration
	left  int
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.left <= 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(d.every):
	case <-d.ctx.Done():
		return 0, context.Cause(d.ctx)
	}
	n := min(len(p), d.bytes, d.left)
	d.left -= n
	return n, nil
}

// TestARegistryHasToSendAtALeastRate: one that drips is given up within the time of a pace; a slow line is not.
func TestARegistryHasToSendAtALeastRate(t *testing.T) {
	const limit = 10 * time.Second
	least := pace{1 << 20, time.Minute}
	for name, c := range map[string]struct {
		bytes int
		every time.Duration
		whole bool
		ended time.Duration
	}{
		"a byte a second":     {1, time.Second, false, least.in},
		"half of the least":   {1 << 19 / 60, time.Second, false, least.in},
		"more than the least": {1 << 21 / 60, time.Second, true, 0},
		"nothing":             {1, time.Hour, false, limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guarded, wrap, stop := guardStalls(t.Context(), limit, least)
				defer stop()
				began := time.Now()
				_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, wrap(&dripping{guarded, c.bytes, c.every, 5 << 20}), make([]byte, copyBuffer))
				took := time.Since(began)
				if whole := err == nil; whole != c.whole {
					t.Errorf("%v after %s", err, took)
				}
				if !c.whole && (!resumable(err) || took != c.ended || errors.Is(err, errSlow) != (c.ended == least.in)) {
					t.Errorf("%v after %s, want %s", err, took, c.ended)
				}
			})
		})
	}
}
