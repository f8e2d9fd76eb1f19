package rollout

import "time"

// progress is how far a change has come.
type progress struct {
	all, touched, begun, done, failed int
	// unwell are those done whose machines are in trouble.
	unwell  int
	classes map[string]int
	// ended is when the last item ended that has.
	ended time.Time
}

func progressOf(items []Item) *progress {
	p := &progress{all: len(items), classes: map[string]int{}}
	for i := range items {
		switch items[i].Stand {
		case Begun:
			p.begun++
		case Done:
			if p.done++; items[i].Unwell {
				p.unwell++
			}
		case Failed:
			p.failed++
			p.classes[items[i].Class]++
		case Waiting:
			continue
		}
		if p.touched++; items[i].ended() && items[i].Ended.After(p.ended) {
			p.ended = items[i].Ended
		}
	}
	return p
}

// wave is where a change stands: the number of the wave, from 0, and how many items may have begun when it is full.
type wave struct {
	number, upTo int
	// after is the wave before it, whose end it waits for when none of its own items has begun.
	after *Wave
	fresh bool
}

// waveOf is the first wave that is not full. The rest comes after all.
func (p *progress) waveOf(waves []Wave) wave {
	full := 0
	var after *Wave
	for i := range waves {
		upTo := min(p.all, max(full, waves[i].UpTo.ceil(p.all)))
		if p.touched < upTo {
			return wave{i, upTo, after, p.touched == full}
		}
		if upTo > full {
			full, after = upTo, &waves[i]
		}
	}
	return wave{len(waves), p.all, after, p.touched == full}
}

// baked reports whether a wave may begin: everything before it has ended, for long enough. If not, it says when, as far as that is known.
func (p *progress) baked(w wave, now time.Time) (reason Reason, at time.Time, ready bool) {
	switch {
	case !w.fresh || w.after == nil:
		return "", time.Time{}, true
	case p.begun > 0:
		return WaveRuns, time.Time{}, false
	case p.unwell > 0:
		return Unwell, time.Time{}, false
	case now.Before(p.ended.Add(w.after.Bake)):
		return Baking, p.ended.Add(w.after.Bake), false
	}
	return "", time.Time{}, true
}

// canaries are how many items the first wave has.
func (p *progress) canaries(waves []Wave) int {
	if len(waves) == 0 {
		return 0
	}
	return min(p.all, waves[0].UpTo.ceil(p.all))
}
