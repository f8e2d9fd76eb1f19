//go:build budget

package assignment

import (
	"runtime"
	"testing"
)

// budget is what an assignment may cost in memory, in bytes: its own fields and its place in the tables.
const budget = 2 << 10

func TestBudgetOfAnAssignment(t *testing.T) {
	const n = 20_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	x := fleetOf(n)
	if each := (heap() - before) / n; each > budget {
		t.Errorf("%d bytes an assignment, of %d", each, budget)
	}
	runtime.KeepAlive(x)
}
