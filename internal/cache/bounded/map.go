package bounded

import (
	"iter"
	"maps"
)

// Map holds a value for each of the keys that came last. When it is full, the key that came first makes room for a new one. The zero
// value is empty. It is for one goroutine at a time.
type Map[K comparable, V any] struct {
	by    map[K]V
	order []K // the oldest is at next, when it is full
	next  int
}

// Get returns the value of a key, if it has one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	v, ok := m.by[key]
	return v, ok
}

// Values returns all values, in no order.
func (m *Map[K, V]) Values() iter.Seq[V] { return maps.Values(m.by) }

// Len returns how many keys have a value.
func (m *Map[K, V]) Len() int { return len(m.by) }

// Put sets the value of a key. There are at most limit keys; limit is the same at each call. A key that is put again keeps its turn. It returns the
// value of the key that made room, and reports whether one did.
func (m *Map[K, V]) Put(key K, value V, limit int) (dropped V, made bool) {
	if m.by == nil {
		m.by = make(map[K]V)
	}
	if _, known := m.by[key]; !known {
		if len(m.order) < limit {
			m.order = append(m.order, key)
		} else {
			oldest := m.order[m.next]
			dropped, made = m.by[oldest], true
			delete(m.by, oldest)
			m.order[m.next], m.next = key, (m.next+1)%limit
		}
	}
	m.by[key] = value
	return dropped, made
}
