package bootview

import (
	"fmt"
	"runtime"
	"testing"
)

// typical is machine i of a site where every machine boots the same image.
func typical(i int) Entry {
	attempt := Attempt{ID: fmt.Sprintf("attempt-%032d", i), Token: fmt.Sprintf("%064d", i), Open: true}
	script, err := DefaultScript(params(func(p *DefaultScriptParams) { withSquashfs(p); p.Attempt = attempt }))
	if err != nil {
		panic(err)
	}
	return Entry{
		Name:    fmt.Sprintf("IPXEBootConfig/default/machine-%d", i),
		UUID:    fmt.Sprintf("4c4c4544-0043-3510-8052-%012d", i),
		MACs:    []string{fmt.Sprintf("02fa44%06x", i), fmt.Sprintf("02fa45%06x", i)},
		IPs:     []string{fmt.Sprintf("10.%d.%d.%d", i>>16&0xff, i>>8&0xff, i&0xff)},
		Serial:  fmt.Sprintf("SN%d", i),
		Rank:    Current,
		Script:  script,
		Attempt: attempt,
	}
}

// BenchmarkMemory reports the heap that one machine of 10,000 costs.
func BenchmarkMemory(b *testing.B) {
	const machines = 10_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v := New()
		for i := range machines {
			v.Put(typical(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/machines, "heap-B/machine")
		runtime.KeepAlive(v)
	}
}

func BenchmarkByUUID(b *testing.B) {
	for _, machines := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(machines), func(b *testing.B) {
			v := New()
			uuids := make([]string, machines)
			for i := range machines {
				e := typical(i)
				uuids[i] = e.UUID
				v.Put(e)
			}
			v.SetSynced(true)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, status := v.ByUUID(uuids[i*7919%machines]); status != Found {
					b.Fatal(status)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	const machines = 10_000
	v := New()
	entries := make([]Entry, machines)
	for i := range machines {
		entries[i] = typical(i)
		v.Put(entries[i])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v.Put(entries[i%machines])
	}
}
