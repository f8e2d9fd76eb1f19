package allocator

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// pending is a claim that has no Server yet.
type pending struct {
	name  types.NamespacedName
	uid   types.UID
	since int64 // of creation, seconds
	want  *want
	given *server // nil while it waits
	// told says that it was among those that Match found nothing for.
	told bool
}

// older puts claims in the order in which they are served: by age, and those of one second by name.
func (c *pending) older(other *pending) int {
	return cmp.Or(cmp.Compare(c.since, other.since), cmp.Compare(c.name.Namespace, other.name.Namespace),
		cmp.Compare(c.name.Name, other.name.Name), cmp.Compare(c.uid, other.uid))
}

// Pend adds a claim to those that wait for a Server. It returns whether Match may find one for it; if not,
// that was tried and nothing has come since. A claim that waits already, or was given a Server, stays where it is. One of the
// same name that was before it, or that asked for something else, is withdrawn; what that was given is something to look at.
func (p *Pool) Pend(c *metalv1.ServerClaim) (hopeful bool, err error) {
	fresh, err := newWant(c)
	if err != nil {
		return p.Withdraw(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}), err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	freed := false
	if known := p.byName[name]; known != nil {
		switch {
		case known.uid == c.UID && known.want.key == fresh.key:
			hopeful = known.given != nil || !known.want.dry
			known.told = known.told && !hopeful // it does not say what it was told, and has to be told anew
			return hopeful, nil
		case known.uid == c.UID && known.given != nil:
			return true, nil // whatever it asks for now, what it was given is on its way
		}
		freed = p.withdraw(known)
	}
	entry := &pending{name: name, uid: c.UID, since: c.CreationTimestamp.Unix(), want: fresh}
	p.claims[c.UID], p.byName[name] = entry, entry
	if p.wait(entry); freed {
		entry.want.dry = false // Match has to look for others, and tells this one as well
	}
	return !entry.want.dry, nil
}

// Withdraw removes a claim, because it has its Server, or is gone. A Server that it was given and that
// was not taken in time is free again; it returns whether that is something for another claim.
func (p *Pool) Withdraw(name types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byName[name]
	return c != nil && p.withdraw(c)
}

func (p *Pool) withdraw(c *pending) bool {
	delete(p.claims, c.uid)
	delete(p.byName, c.name)
	if s := c.given; s != nil {
		c.given, s.heldFor = nil, nil
		p.recount(s)
		return s.counted == free && p.undry(s)
	}
	p.leave(c)
	return false
}

// wait puts a claim among those that wait for the same.
func (p *Pool) wait(c *pending) {
	w := p.wants[c.want.key]
	if w == nil {
		w = c.want
		w.dry = false
		p.wants[w.key] = w
		p.file(w)
	}
	c.want = w
	i, found := slices.BinarySearchFunc(w.waiting, c, (*pending).older)
	if !found {
		w.waiting = slices.Insert(w.waiting, i, c)
	}
}

// leave is the opposite of wait.
func (p *Pool) leave(c *pending) {
	w := c.want
	if i, found := slices.BinarySearchFunc(w.waiting, c, (*pending).older); found {
		w.waiting = slices.Delete(w.waiting, i, i+1)
	}
	if len(w.waiting) == 0 {
		delete(p.wants, w.key)
		p.unfile(w)
	}
}

// file makes a want findable by the servers that it is about: by name, or by its most selective
// requirement.
func (p *Pool) file(w *want) {
	if w.server != "" {
		add(p.named, w.server, w)
		return
	}
	w.filed = p.narrowest(w, func(list *posting) int { return len(list.all) })
	for _, t := range w.filed {
		add(p.filed, t, w)
	}
}

func (p *Pool) unfile(w *want) {
	if w.server != "" {
		remove(p.named, w.server, w)
	}
	for _, t := range w.filed {
		remove(p.filed, t, w)
	}
	w.filed = nil
}

// narrowest returns the terms of the requirement under which the fewest servers stand, by some measure.
func (p *Pool) narrowest(w *want, size func(*posting) int) []term {
	best, least := []term{anything}, -1
	for _, terms := range w.positive {
		n := 0
		for _, t := range terms {
			if list := p.postings[t]; list != nil {
				n += size(list)
			}
		}
		if least < 0 || n < least {
			best, least = terms, n
		}
	}
	return best
}

// undry has Match look again for every want that a free server fits, and returns whether there is one.
func (p *Pool) undry(s *server) bool {
	woken := false
	p.wanting(s, func(w *want) bool {
		w.dry, woken = false, true
		return true
	})
	return woken
}

// wanting visits the wants that a server fits, until visit returns false.
func (p *Pool) wanting(s *server, visit func(*want) bool) {
	ask := func(wants map[*want]struct{}) bool {
		for w := range wants {
			p.visited++
			if w.tolerates(s.taints.taints) && w.matches(s) && !visit(w) {
				return false
			}
		}
		return true
	}
	if !ask(p.named[s.name]) || !ask(p.filed[anything]) {
		return
	}
	for key, value := range s.labels {
		if !ask(p.filed[term{key: key, value: value}]) || !ask(p.filed[term{key: key, any: true}]) {
			return
		}
	}
}

func add[K comparable](index map[K]map[*want]struct{}, key K, w *want) {
	if index[key] == nil {
		index[key] = map[*want]struct{}{}
	}
	index[key][w] = struct{}{}
}

func remove[K comparable](index map[K]map[*want]struct{}, key K, w *want) {
	if delete(index[key], w); len(index[key]) == 0 {
		delete(index, key)
	}
}
