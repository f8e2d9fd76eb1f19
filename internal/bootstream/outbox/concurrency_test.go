package outbox

import (
	"fmt"
	"sync"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed/sealedtest"
)

// TestManyAddWhileOneTells: each delivery counts once, whoever adds while requests are made and written.
func TestManyAddWhileOneTells(t *testing.T) {
	const adders, each = 4, 500
	d, _ := sealedtest.Dir(t, name)
	o := open(t, d)
	defer o.Close()
	m := manager{map[string]uint64{}, map[string]uint32{}}
	var adding sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			for i := range each {
				o.Deliver(delivery(fmt.Sprint("u", i%50), fmt.Sprint("10.0.0.", a), i))
			}
		})
	}
	added := make(chan struct{})
	go func() { adding.Wait(); close(added) }()
	for telling := true; telling; {
		select {
		case <-added:
			telling = false
		default:
		}
		if r := o.Next(7); r != nil {
			m.tell(r)
			o.Done(r.GetNumber())
		}
		if err := o.Save(); err != nil {
			t.Fatal(err)
		}
	}
	for r := o.Next(100); r != nil; r = o.Next(100) {
		m.tell(r)
		o.Done(r.GetNumber())
	}
	total := uint32(0)
	for _, n := range m.totals {
		total += n
	}
	if total != adders*each || len(m.totals) != adders*50 {
		t.Errorf("%d deliveries of %d machines and addresses counted, want %d of %d", total, len(m.totals), adders*each, adders*50)
	}
}
