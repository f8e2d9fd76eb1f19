package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// progress is how far a change has come.
type progress struct {
	all, touched, begun, done, failed int
	// unwell are those done whose machines are in trouble.
	unwell  int
	classes map[string]int
	// gates are the IDs of those begun that wait at a gate, refused is how many failed at one, and skipped how many machines no gate has looked at.
	gates            map[Gate][]string
	refused, skipped int
	// ended is when the last item ended that has.
	ended time.Time
}

func progressOf(items []Item) *progress {
	p := &progress{all: len(items), classes: map[string]int{}, gates: map[Gate][]string{}}
	for i := range items {
		p.skipped += items[i].Skipped
		switch items[i].Stand {
		case Begun:
			if p.begun++; items[i].Gate != "" {
				p.gates[items[i].Gate] = append(p.gates[items[i].Gate], items[i].ID)
			}
		case Done:
			if p.done++; items[i].Unwell {
				p.unwell++
			}
		case Failed:
			p.failed++
			if p.classes[items[i].Class]++; items[i].Gate != "" {
				p.refused++
			}
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

// baked reports whether a wave may begin: everything before it has ended, for long enough, and passed its gates. If not, it says when, as far as that
// is known. A person may have accepted failures.
func (p *progress) baked(w wave, accepted int, now time.Time) (reason Reason, at time.Time, ready bool) {
	switch {
	case !w.fresh || w.after == nil:
		return "", time.Time{}, true
	case p.begun > 0 && p.begun == p.atGates():
		return AtGate, time.Time{}, false
	case p.begun > 0:
		return WaveRuns, time.Time{}, false
	case p.refused > 0 && p.failed > accepted:
		return GateShut, time.Time{}, false
	case p.unwell > 0:
		return Unwell, time.Time{}, false
	case now.Before(p.ended.Add(w.after.Bake)):
		return Baking, p.ended.Add(w.after.Bake), false
	}
	return "", time.Time{}, true
}

// atGates is how many that have begun wait at a gate.
func (p *progress) atGates() (n int) {
	for _, ids := range p.gates {
		n += len(ids)
	}
	return n
}

// gateMessage says who waits at which gate, for people; empty: nobody does.
func (p *progress) gateMessage() string {
	var said []string
	for _, gate := range slices.Sorted(maps.Keys(p.gates)) {
		said = append(said, fmt.Sprintf("%s waits for %s", gate, listed(p.gates[gate])))
	}
	return strings.Join(append(said, p.skippedMessage()...), "; ")
}

// runsMessage says what has begun and not ended, for people.
func (p *progress) runsMessage() string {
	said := fmt.Sprintf("%d of the wave before are in progress", p.begun)
	if gates := p.gateMessage(); gates != "" {
		said += "; " + gates
	}
	return said
}

// skippedMessage says how many machines no gate has looked at, for people.
func (p *progress) skippedMessage() []string {
	if p.skipped == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s skipped %d claimed servers", ProbeBoot, p.skipped)}
}

// listed are the first of some names.
func listed(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// canaries are how many items the first wave has.
func (p *progress) canaries(waves []Wave) int {
	if len(waves) == 0 {
		return 0
	}
	return min(p.all, waves[0].UpTo.ceil(p.all))
}
