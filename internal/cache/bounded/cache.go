package bounded

import (
	"container/list"
	"sync"
)

// Cache holds a value for each of the keys that were used last. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	by    map[K]*list.Element
	order *list.List // of cached[K, V], the most recently used in front
}

type cached[K comparable, V any] struct {
	key   K
	value V
}

// NewCache returns an empty cache of at most limit keys.
func NewCache[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, by: make(map[K]*list.Element), order: list.New()}
}

// Get returns the value of a key, if it has one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.by[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(element)
	return element.Value.(cached[K, V]).value, true
}

// Add sets the value of a key.
func (c *Cache[K, V]) Add(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.by[key]; ok {
		element.Value = cached[K, V]{key, value}
		c.order.MoveToFront(element)
		return
	}
	c.by[key] = c.order.PushFront(cached[K, V]{key, value})
	if c.order.Len() > c.limit {
		c.removeElement(c.order.Back())
	}
}

// Remove drops a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.by[key]; ok {
		c.removeElement(element)
	}
}

// Len returns how many keys have a value.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}

func (c *Cache[K, V]) removeElement(element *list.Element) {
	delete(c.by, element.Value.(cached[K, V]).key)
	c.order.Remove(element)
}
