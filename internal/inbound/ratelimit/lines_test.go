package ratelimit

import (
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestLines: the first lines of a time are logged, and the first one of the next time counts those that were not.
func TestLines(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(now)
	var said []string
	lines := NewLines(2, time.Minute, funcr.New(func(_, line string) { said = append(said, line) }, funcr.Options{}), c)
	for range 5 {
		lines.Logger().Info("refused", "address", "192.0.2.1")
	}
	c.SetTime(now.Add(time.Minute - 1))
	lines.Logger().Info("refused", "address", "192.0.2.2")
	c.SetTime(now.Add(time.Minute))
	lines.Logger().Info("refused", "address", "192.0.2.3")
	lines.Logger().Info("refused", "address", "192.0.2.4")
	lines.Logger().Info("refused", "address", "192.0.2.5")
	want := []string{
		`"level"=0 "msg"="refused" "address"="192.0.2.1"`, `"level"=0 "msg"="refused" "address"="192.0.2.1"`,
		`"level"=0 "msg"="refused" "suppressed"=4 "address"="192.0.2.3"`, `"level"=0 "msg"="refused" "address"="192.0.2.4"`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("the log has\n%q\nwant\n%q", said, want)
	}
}
