package bmc

import (
	"net/http"
	"sync"
	"time"
)

// Symptoms are what is wrong with a BMC that answers all the same. Somebody should look at it
// before it is worse.
type Symptoms struct {
	// LosesSessions: a session is gone as soon as it was used, so that every request costs a login.
	LosesSessions bool
	// Slow: answers take more than half of the time that a request may take.
	Slow bool
	// ClockSkew is how far the BMC's clock is ahead of ours, in whole minutes. Zero: it is right, nearly,
	// or the BMC does not say.
	ClockSkew time.Duration
	// Basic is why the BMC gets the password with every request; "": it gets a session's token.
	Basic WhyBasic
}

const (
	// symptomatic is how often in a row something has to happen to be more than bad luck.
	symptomatic = 3
	// tolerableSkew is that of a clock that nobody has to set: certificates, logs and events bear it.
	tolerableSkew = 5 * time.Minute
	// steadySkew keeps one that lies between two minutes from being told in turn as the one and the other.
	steadySkew = 2 * time.Minute
)

// examination is what Symptoms are concluded from.
type examination struct {
	mu         sync.Mutex
	lost, slow int // in a row
	skew       time.Duration
	basic      WhyBasic
}

// session notes what became of one that had been used before.
func (e *examination) session(lost bool) { e.note(&e.lost, lost) }

// answer notes how long one took, and what time it is at the BMC (Date, RFC 9110 §6.6.1).
func (e *examination) answer(took, limit time.Duration, h http.Header, now time.Time) {
	e.note(&e.slow, took > limit/2)
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	skew := date.Sub(now)
	switch {
	case skew.Abs() < tolerableSkew:
		e.skew = 0
	case (skew - e.skew).Abs() >= steadySkew:
		e.skew = skew.Round(time.Minute)
	}
}

func (e *examination) note(row *int, bad bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !bad {
		*row = 0
		return
	}
	*row = min(*row+1, symptomatic)
}

// Symptoms tells what is wrong with the BMC, as far as its answers show. It never waits.
func (c *Client) Symptoms() Symptoms {
	c.examined.mu.Lock()
	defer c.examined.mu.Unlock()
	return Symptoms{
		LosesSessions: c.examined.lost >= symptomatic,
		Slow:          c.examined.slow >= symptomatic,
		ClockSkew:     c.examined.skew,
		Basic:         c.examined.basic,
	}
}
