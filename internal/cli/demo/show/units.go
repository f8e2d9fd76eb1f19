package show

import (
	"fmt"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/cli/screen"
)

// Seconds is a duration that is a number of seconds in JSON, to the millisecond.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	thousandths := time.Duration(s).Round(time.Millisecond).Milliseconds()
	return strconv.AppendFloat(nil, float64(thousandths)/1000, 'f', -1, 64), nil
}

// Moment is a point in time, on the clock and on the demo's own watch.
type Moment struct {
	At time.Time `json:"at"`
	// Seconds since the demo began.
	Seconds Seconds `json:"seconds"`
}

// MomentAt is the moment at t of a demo that began at start.
func MomentAt(start, t time.Time) Moment {
	return Moment{At: t.UTC().Round(time.Millisecond), Seconds: Seconds(t.Sub(start))}
}

// offset is a time since the start, for columns.
func offset(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// took is how long something took, with as many digits as a person cares for.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return screen.Lasting(d)
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
