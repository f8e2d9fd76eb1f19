package rollout

// budget counts what is unavailable, by the places that have a limit.
type budget struct {
	machines map[string]Machine
	// away are the machines that are unavailable, or may become so at any time.
	away   map[string]bool
	places map[place]*room
}

// place is the fleet, or one zone or rack of it.
type place struct {
	kind Reason
	name string
}

// room is how much of a place there is.
type room struct{ machines, away, limit int }

// newBudget counts the fleet. The machines of items that have begun count whatever they show; those of items that have failed are as they are.
func newBudget(p Policy, facts *Facts) *budget {
	b := &budget{machines: make(map[string]Machine, len(facts.Machines)), away: map[string]bool{}, places: map[place]*room{}}
	for _, m := range facts.Machines {
		b.machines[m.Name] = m
		for _, at := range placesOf(m) {
			if b.places[at] == nil {
				b.places[at] = &room{}
			}
			b.places[at].machines++
		}
	}
	for at, r := range b.places {
		limit := map[Reason]Amount{FleetBudget: p.Fleet, ZoneBudget: p.Zone, RackBudget: p.Rack}[at.kind]
		if r.limit = r.machines; limit.IsSet() {
			r.limit = limit.floor(r.machines)
		}
	}
	for _, m := range facts.Machines {
		if m.Unavailable {
			b.take(m.Name)
		}
	}
	for _, items := range [][]Item{facts.Items, facts.Others} {
		for i := range items {
			if items[i].Stand == Begun {
				b.takeAll(items[i].Machines)
			}
		}
	}
	return b
}

func placesOf(m Machine) []place {
	places := []place{{FleetBudget, ""}}
	if m.Zone != "" {
		places = append(places, place{ZoneBudget, m.Zone})
	}
	if m.Rack != "" {
		// Racks of two zones may have one name.
		places = append(places, place{RackBudget, m.Zone + "/" + m.Rack})
	}
	return places
}

func (b *budget) takeAll(names []string) {
	for _, name := range names {
		b.take(name)
	}
}

func (b *budget) take(name string) {
	m, known := b.machines[name]
	if !known || b.away[name] {
		return
	}
	b.away[name] = true
	for _, at := range placesOf(m) {
		b.places[at].away++
	}
}

// lacks names the first place that has no room for machines to become unavailable, if one has none.
func (b *budget) lacks(names []string) (place, bool) {
	more := map[place]int{}
	for _, name := range names {
		m, known := b.machines[name]
		if !known || b.away[name] {
			continue
		}
		for _, at := range placesOf(m) {
			if more[at]++; b.places[at].away+more[at] > b.places[at].limit {
				return at, true
			}
		}
	}
	return place{}, false
}

// unavailable names a machine that is of no use already, if one of them is.
func (b *budget) unavailable(names []string) (string, bool) {
	for _, name := range names {
		if b.machines[name].Unavailable {
			return name, true
		}
	}
	return "", false
}
