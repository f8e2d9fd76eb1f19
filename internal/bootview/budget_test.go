//go:build budget

package bootview

import (
	"runtime"
	"testing"
)

// memoryBudget is what docs/performance.md promises that a machine costs of heap, its ignition payload aside: 1.2 KiB. Sizes of objects do
// not depend on how fast the machine is that tests them; maps that have just grown differ by a few bytes.
const memoryBudget = 1228

// TestBudgetOfAMachine: 100,000 machines fit into the budget, and each is found by what it is known by.
func TestBudgetOfAMachine(t *testing.T) {
	const machines = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := New()
	for i := range machines {
		v.Put(typical(i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / machines
	t.Logf("%d bytes a machine", per)
	if per > memoryBudget {
		t.Errorf("a machine costs %d bytes, the budget is %d", per, memoryBudget)
	}
	v.SetSynced(true)
	for i := range machines {
		e := typical(i)
		m, status := v.ByUUID(e.UUID)
		if status != Found {
			t.Fatalf("%s is %s", e.UUID, status)
		}
		for _, address := range append(e.MACs, e.IPs...) {
			if o, status := v.ByAddress(address); status != Found || o != m {
				t.Fatalf("%s is %s and not machine %s", address, status, e.UUID)
			}
		}
	}
}
