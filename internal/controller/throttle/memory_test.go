package throttle

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAccountsEnd: what is remembered grows with what was written lately, not with the fleet; and how many stages one object goes through
// makes no difference.
func TestAccountsEnd(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	b := New(clock)
	write := func(name string, stage uint64) {
		b.write(subject{metalv1.GroupVersion.WithKind("Server"), types.NamespacedName{Name: name}}, func() uint64 { return stage })
	}
	for hour := range 5 {
		for i := range 10_000 {
			write(fmt.Sprintf("%d-%d", hour, i), 0)
		}
		clock.Step(time.Hour)
	}
	if n := len(b.accounts); n > 25_000 {
		t.Errorf("%d accounts of 50000 objects, 10000 an hour", n)
	}
	for i := range uint64(10_000) {
		write("s", i)
	}
	if n := len(b.accounts[subject{metalv1.GroupVersion.WithKind("Server"), types.NamespacedName{Name: "s"}}].stages); n > maxStages {
		t.Errorf("%d stages are remembered", n)
	}
}

// TestWritesThatAreFew cost nothing but the count: no stage is looked at.
func TestWritesThatAreFew(t *testing.T) {
	b := New(clocktesting.NewFakeClock(time.Now()))
	s := subject{metalv1.GroupVersion.WithKind("Server"), types.NamespacedName{Name: "s"}}
	for range watchFrom {
		b.write(s, func() uint64 { t.Fatal("the stage was looked at"); return 0 })
	}
	if n := testing.AllocsPerRun(100, func() {
		b.accounts[s].spent[writes].used = 0
		b.write(s, nil)
	}); n > 0 {
		t.Errorf("%v allocations a write", n)
	}
}
