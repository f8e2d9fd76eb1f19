package blobcache

import (
	"cmp"
	"slices"
)

// Kept is what is on disk of a repository.
type Kept struct {
	// Name is registry and repository; empty: layers that nobody pins any more, of any repository.
	Name string
	// Blobs are so many layers of Wanted, which are those that somebody boots, and Bytes how large they are.
	Blobs, Wanted int
	Bytes         int64
}

// Kept lists by name what is on disk of the layers that are pinned, and what else is, last.
func (b *Cache) Kept() []Kept {
	b.mu.Lock()
	defer b.mu.Unlock()
	by, seen := map[string]*Kept{}, map[string]bool{}
	for key, blob := range b.pins.blobs {
		name := blob.ref.Name()
		if by[name] == nil {
			by[name] = &Kept{Name: name}
		}
		k := by[name]
		k.Wanted++
		if size, has := b.store.size(key.digest); has {
			k.Blobs++
			k.Bytes += size
			seen[key.digest] = true
		}
	}
	all := make([]Kept, 0, len(by)+1)
	for _, k := range by {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(x, y Kept) int { return cmp.Compare(x.Name, y.Name) })
	if rest := b.store.rest(seen); rest.Blobs > 0 {
		all = append(all, rest)
	}
	return all
}

// rest is what the store has besides.
func (s *store) rest(seen map[string]bool) (k Kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, b := range s.blobs {
		if !seen[digest] {
			k.Blobs++
			k.Bytes += b.size
		}
	}
	k.Wanted = k.Blobs
	return k
}
