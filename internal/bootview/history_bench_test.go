package bootview

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkHistory is what recording an answer adds to the look into the index that it follows, on as many processors as -cpu
// says: full is a history that every new machine has to push another one out of.
func BenchmarkHistory(b *testing.B) {
	const machines = 10_000
	v := New()
	uuids := make([]string, machines)
	for i := range machines {
		e := typical(i)
		uuids[i] = e.UUID
		v.Put(e)
	}
	v.SetSynced(true)
	strangers := make([]string, 4*historyMachines)
	for i := range strangers {
		strangers[i] = fmt.Sprintf("ffffffff-0043-3510-8052-%012d", i)
	}
	record := func(h *History, uuid string) {
		h.Record(Delivery{Kind: DeliveredScript, UUID: uuid, Attempt: "attempt", Entry: "entry", Addr: "10.0.0.1", Status: 200, Time: time.Unix(0, 0)})
	}
	run := func(name string, ask func(h *History, i int)) {
		b.Run(name, func(b *testing.B) {
			var h History
			for _, uuid := range uuids {
				record(&h, uuid)
			}
			if name == "full" {
				for _, uuid := range strangers {
					record(&h, uuid)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(machines); pb.Next(); i += 7919 {
					ask(&h, i)
				}
			})
		})
	}
	run("lookup", func(_ *History, i int) {
		if _, status := v.ByUUID(uuids[i%machines]); status != Found {
			b.Error(status)
		}
	})
	run("record", func(h *History, i int) { record(h, uuids[i%machines]) })
	run("both", func(h *History, i int) {
		if _, status := v.ByUUID(uuids[i%machines]); status != Found {
			b.Error(status)
		}
		record(h, uuids[i%machines])
	})
	run("full", func(h *History, i int) { record(h, strangers[i%len(strangers)]) })
}
