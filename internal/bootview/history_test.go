package bootview

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHistory(t *testing.T) {
	var h History
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for i, d := range []Delivery{
		{Kind: DeliveredChainload, Addr: "10.0.0.1", Status: 200}, // of nobody
		{Kind: DeliveredScript, UUID: "u", Attempt: "1", Entry: "e", Addr: "10.0.0.1", Status: 200},
		{Kind: DeliveredArtifact, What: "kernel", UUID: "u", Attempt: "1", Addr: "10.0.0.1", Status: 206, Bytes: 10},
		{Kind: DeliveredArtifact, What: "kernel", UUID: "u", Attempt: "1", Addr: "10.0.0.1", Status: 206, Bytes: 5},
		{Kind: DeliveredArtifact, What: "initrd", UUID: "u", Attempt: "1", Addr: "10.0.0.1", Status: 206},
		{Kind: DeliveredIgnition, UUID: "u", Attempt: "1", Addr: "10.0.0.2", Status: 403},
		{Kind: DeliveredScript, UUID: "u", Attempt: "2", Entry: "e", Addr: "10.0.0.1", Status: 200},
	} {
		d.Time = at(i)
		h.Record(d)
	}
	want := []Boot{
		{Attempt: "1", Steps: []Step{
			{Kind: DeliveredScript, Entry: "e", Addr: "10.0.0.1", Status: 200, First: at(1), Last: at(1), Count: 1},
			{Kind: DeliveredArtifact, What: "kernel", Addr: "10.0.0.1", Status: 206, Bytes: 15, First: at(2), Last: at(3), Count: 2},
			{Kind: DeliveredArtifact, What: "initrd", Addr: "10.0.0.1", Status: 206, First: at(4), Last: at(4), Count: 1},
			{Kind: DeliveredIgnition, Addr: "10.0.0.2", Status: 403, First: at(5), Last: at(5), Count: 1},
		}},
		{Attempt: "2", Steps: []Step{{Kind: DeliveredScript, Entry: "e", Addr: "10.0.0.1", Status: 200, First: at(6), Last: at(6), Count: 1}}},
	}
	if diff := cmp.Diff(want, h.Boots("u")); diff != "" {
		t.Error(diff)
	}
	if got := h.Boots("another"); got != nil {
		t.Errorf("of a machine that never asked: %v", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var h History
	for i := range 2 * historySteps {
		h.Record(Delivery{Kind: DeliveredScript, UUID: "u", Addr: fmt.Sprint(i), Attempt: "0"})
	}
	if b := h.Boots("u")[0]; len(b.Steps) != historySteps || b.Dropped != historySteps {
		t.Errorf("%d steps, %d dropped", len(b.Steps), b.Dropped)
	}
	for i := range 3 * historyAttempts {
		h.Record(Delivery{Kind: DeliveredScript, UUID: "u", Attempt: fmt.Sprint(i)})
	}
	if boots := h.Boots("u"); len(boots) != historyAttempts || boots[historyAttempts-1].Attempt != fmt.Sprint(3*historyAttempts-1) {
		t.Errorf("%d boots, the last %q", len(boots), boots[len(boots)-1].Attempt)
	}
	for i := range 2 * historyMachines {
		h.Record(Delivery{Kind: DeliveredScript, UUID: fmt.Sprint(i)})
	}
	if h.Boots("u") != nil {
		t.Error("the oldest has not made room")
	}
	for i := range h.shards {
		if n := h.shards[i].machines.Len(); n != shardMachines {
			t.Errorf("shard %d: %d machines", i, n)
		}
	}
	for i := 2*historyMachines - historyMachines/2; i < 2*historyMachines; i++ {
		boots := h.Boots(fmt.Sprint(i))
		if boots == nil {
			t.Fatalf("machine %d, one of the newest, has made room", i)
		}
		if want := []Boot{{Steps: []Step{{Kind: DeliveredScript, Count: 1}}}}; !cmp.Equal(boots, want) {
			t.Fatalf("machine %d has what another had before it: %+v", i, boots)
		}
	}
}

// TestHistoryOfManyAtOnce is for the race detector, and nobody's answers may be lost.
func TestHistoryOfManyAtOnce(t *testing.T) {
	const machines, answers = 64, 200
	var h History
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range machines * answers {
				h.Record(Delivery{Kind: DeliveredScript, UUID: fmt.Sprint(i % machines), Bytes: 2})
				h.Boots(fmt.Sprint(i % machines))
			}
		})
	}
	all.Wait()
	for i := range machines {
		if s := h.Boots(fmt.Sprint(i))[0].Steps[0]; s.Count != 4*answers || s.Bytes != 2*4*answers {
			t.Errorf("machine %d: %d answers of %d bytes", i, s.Count, s.Bytes)
		}
	}
}
