//go:build budget

package records

import (
	"fmt"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

const (
	// memoryBudget is what a machine costs a boot server of heap, where one of a hundred is due to boot and all of those share a
	// payload of 4 KiB. Maps that have just grown are why there is room.
	memoryBudget = 2 << 10
	// recordBudget is how long the record of a machine is whose boot is not open, script and all; putBudget how often making one
	// allocates at most.
	recordBudget = 2 << 10
	putBudget    = 40
)

// typical is one of a hundred due to boot.
func typical(tb testing.TB, i int, payload []byte) bootview.Entry {
	tb.Helper()
	a := bootview.Attempt{ID: "none"}
	if i%100 == 0 {
		a = bootview.Attempt{ID: fmt.Sprintf("attempt-%d", i), Token: fmt.Sprintf("%064d", i), Open: true}
	}
	base := "http://10.0.0.1:8082"
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: base, KernelURL: base + "/image?imageName=ghcr.io%2Forg%2Fos&layerDigest=" + digest, InitrdURL: base + "/image?imageName=ghcr.io%2Forg%2Fos&layerDigest=" + digest, Attempt: a,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/ns/machine-%06d", i), UUID: fmt.Sprintf("4c4c4544-0043-3510-8052-%012x", i), Serial: fmt.Sprintf("S%06d", i), Rank: bootview.Current,
		MACs: []string{fmt.Sprintf("02:fa:44:%02x:%02x:%02x", i>>16, i>>8&255, i&255), fmt.Sprintf("02:fb:44:%02x:%02x:%02x", i>>16, i>>8&255, i&255)},
		IPs:  []string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}, Script: script, Attempt: a,
		Ignition: &bootview.Ignition{Payload: payload, ContentType: "application/json"}, Terms: bootview.Terms{Server: fmt.Sprintf("machine-%06d", i)}, Version: uint64(i),
	}
}

// sizes counts what is sent.
type sizes struct {
	last  []byte
	bytes int
}

func (s *sizes) Put(_ string, r *streampb.Record) {
	s.last, _ = proto.MarshalOptions{}.MarshalAppend(s.last[:0], r)
	s.bytes += len(s.last)
}

func (s *sizes) Delete(string) {}

// TestBudgetOfABootServer: 100,000 machines of which 1 % are due with a shared 4 KiB ignition fit into the budget.
func TestBudgetOfABootServer(t *testing.T) {
	const machines = 100_000
	payload := make([]byte, 4<<10)
	sent := &sizes{}
	source := NewSource(sent)
	server := newEnd()
	views := server.views()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range machines {
		e := typical(t, i, payload)
		sent.Put("", source.machine(&e))
		var r streampb.Record
		if err := proto.Unmarshal(sent.last, &r); err != nil {
			t.Fatal(err)
		}
		if err := views.Apply(&r); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d MiB of heap, %d bytes a machine; %d bytes a record; %d payloads", heap>>20, heap/machines, sent.bytes/machines, views.payloads.len())
	if heap/machines > memoryBudget {
		t.Errorf("a machine costs %d bytes, the budget is %d", heap/machines, memoryBudget)
	}
	if sent.bytes/machines > recordBudget {
		t.Errorf("a record has %d bytes, the budget is %d", sent.bytes/machines, recordBudget)
	}
	if got := views.payloads.len(); got != 1 {
		t.Errorf("%d payloads, want the one that all share", got)
	}
	runtime.KeepAlive(server)
}

// nobody takes what it is given and forgets it.
type nobody struct{}

func (nobody) Put(string, *streampb.Record) {}
func (nobody) Delete(string)                {}

// TestBudgetOfAChange: a record costs a manager few allocations, and no copy of the script or of the payload.
func TestBudgetOfAChange(t *testing.T) {
	source := NewSource(nobody{})
	e := typical(t, 0, make([]byte, 1<<20))
	source.machine(&e)
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			source.machine(&e)
		}
	})
	t.Logf("%s, %d allocations, %d bytes", result, result.AllocsPerOp(), result.AllocedBytesPerOp())
	if result.AllocsPerOp() > putBudget || result.AllocedBytesPerOp() > recordBudget {
		t.Errorf("a record costs %d allocations and %d bytes, the budget is %d and %d", result.AllocsPerOp(), result.AllocedBytesPerOp(), putBudget, recordBudget)
	}
}
