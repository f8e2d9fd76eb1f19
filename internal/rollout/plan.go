package rollout

// Step is one item of a plan.
type Step struct {
	Item Item
	// Wave is the number of the wave in which the item begins, from 1, if nothing fails and nobody changes anything.
	Wave int
	// Begins says that it may begin now; otherwise Wait is why not, nil where it has begun.
	Begins bool
	Wait   *Wait
}

// Plan says what would happen, in order: what has begun, and then everything else as it would begin.
func Plan(p Policy, facts *Facts) ([]Step, *Decision) {
	d := Decide(p, facts)
	begins := make(map[string]bool, len(d.Begin))
	for _, id := range d.Begin {
		begins[id] = true
	}
	var begun, waiting []Step
	for _, item := range facts.Items {
		step := Step{Item: item, Begins: begins[item.ID]}
		if item.Stand != Waiting {
			begun = append(begun, step)
			continue
		}
		if wait, ok := d.Waits[item.ID]; ok {
			step.Wait = &wait
		}
		waiting = append(waiting, step)
	}
	steps := append(begun, waiting...)
	for i := range steps {
		steps[i].Wave = p.waveAt(i, len(steps))
	}
	return steps, d
}

// waveAt is the wave in which the item begins that is at a place, from 0, of so many.
func (p Policy) waveAt(at, all int) int {
	for n, wave := range p.Waves {
		if at < wave.UpTo.ceil(all) {
			return n + 1
		}
	}
	return len(p.Waves) + 1
}
