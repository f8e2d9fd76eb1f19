package await

import (
	"errors"
	"testing"
)

func TestWaits(t *testing.T) {
	looks := 0
	True(t, "three looks", func() bool { looks++; return looks == 3 })
	Nil(t, "five looks", func() error {
		if looks++; looks < 5 {
			return errors.New("too few")
		}
		return nil
	})
	if looks != 5 {
		t.Errorf("%d looks", looks)
	}
	events := make(chan int, 1)
	events <- 7
	if got := Receive(t, "an event", events); got != 7 {
		t.Errorf("received %d", got)
	}
	if p := Patience(t); p <= 0 || p > patience {
		t.Errorf("a patience of %s", p)
	}
}
