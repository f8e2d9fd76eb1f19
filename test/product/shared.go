package product

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Shared is a product that tests of a package use beside each other: each makes objects with names of its own and judges those alone. The
// first test that asks for it starts it, and Main ends it. A test that needs flags, restarts or kills the product has one of its own.
type Shared struct {
	number  int
	once    sync.Once
	product *Product
	err     error
}

// shared are those of the package, for Main.
var shared []*Shared

// NewShared declares a shared product, in a variable of the package.
func NewShared() *Shared {
	s := &Shared{number: len(shared), err: errors.New("the test that was to start it gave up")}
	shared = append(shared, s)
	return s
}

// For is the product under the eyes of one test, which runs beside others from here on.
func (s *Shared) For(t *testing.T) *Product {
	t.Helper()
	t.Parallel()
	s.once.Do(func() {
		s.product, s.err = launch(t, Farrier, filepath.Join(prepared.folder, fmt.Sprintf("shared-%d", s.number)))
	})
	if s.err != nil {
		t.Fatalf("the farrier up that tests share: %v", s.err)
	}
	p := *s.product
	p.t, p.shared = t, true
	t.Cleanup(func() {
		if p.Exited() {
			t.Errorf("the farrier up that tests share has ended: %v", p.process.err)
		}
		if t.Failed() {
			t.Logf("farrier up, which other tests use too, printed:\n%s", p.Log())
		}
	})
	return &p
}

// end stops the product, if a test has started it, and fails if it has ended before or does not end in order.
func (s *Shared) end() error {
	if s.product == nil {
		return nil
	}
	if s.product.Exited() {
		return fmt.Errorf("the farrier up that tests share has ended by itself: %w\n%s", s.product.process.err, s.product.Log())
	}
	if err := s.product.process.end(); err != nil {
		return fmt.Errorf("the end of the farrier up that tests share: %w\n%s", err, s.product.Log())
	}
	return nil
}
