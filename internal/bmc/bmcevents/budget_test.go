//go:build budget

package bmcevents

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestBudgetOfTenThousandBMCs: each with all the series and all the memory of repetitions that it may have.
func TestBudgetOfTenThousandBMCs(t *testing.T) {
	const bmcs, budget = 10000, 48 << 20
	before := heap()
	r := New(Options{Paths: NewPaths(testKey)})
	for i := range bmcs {
		uid := fmt.Sprintf("4c4c4544-0043-3510-8052-%012d", i)
		r.Listen(uid, fmt.Sprint("rack-", i))
		s := r.sender(uid)
		for j := range maxHeard {
			r.take(s, Message{Events: []Event{{ID: fmt.Sprint(j), MessageID: fmt.Sprintf("Registry.1.0.Message%c", 'a'+j%16)}}})
		}
	}
	used := heap() - before
	t.Logf("%d MiB for %d BMCs with %d series", used>>20, bmcs, r.store.order.Len())
	if r.store.order.Len() != 50000 {
		t.Errorf("%d series", r.store.order.Len())
	}
	if used > budget {
		t.Errorf("%d bytes, more than %d", used, budget)
	}
	runtime.KeepAlive(r)
}

// TestBudgetOfLabels: what stands in a label is often a part of something large.
func TestBudgetOfLabels(t *testing.T) {
	const messages, budget = 8, 1 << 20
	s := newStand(t, Options{})
	before := heap()
	for i := range messages {
		padded := strings.Repeat(" ", 500<<10) + fmt.Sprint("m-", i)
		s.post(report(i, `{"MetricId": "`+padded+`", "MetricValue": "1", "MetricProperty": "`+strings.Repeat("x", 400<<10)+`"}`))
	}
	if used := heap() - before; used > budget || s.store.order.Len() != messages {
		t.Errorf("%d series take %d bytes, more than %d", s.store.order.Len(), used, budget)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
