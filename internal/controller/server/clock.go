package server

import (
	"math"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
)

// ahead is how far in the future a moment may lie that was written down: clocks of managers that take turns differ by less. What lies
// further off was written while the clock was wrong. It would be waited for until then, for years perhaps.
const ahead = 5 * time.Minute

// longestDelay is the longest that discoveryDelay gives.
var longestDelay = discoveryDelay(math.MaxInt)

// inFuture says that a moment was written by a clock that has been set back since.
func (v *View) inFuture(t time.Time) bool { return t.After(v.Now.Add(ahead)) }

// rewound is the boot attempt with the moments that lie in the future set to now, so that its times begin now; nil: none does.
func (v *View) rewound() *bootattempt.Attempt {
	if v.Attempt == nil {
		return nil
	}
	a, wrong := *v.Attempt, false
	for _, t := range []**time.Time{&a.First, &a.Ordered, &a.Off, &a.Started, &a.Defaults, &a.Installed} {
		if *t != nil && v.inFuture(**t) {
			*t, wrong = &v.Now, true
		}
	}
	if !wrong {
		return nil
	}
	return &a
}
