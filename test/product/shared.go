package product

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Shared is a product that tests of a package use beside each other: each makes objects with names of its own and judges those alone. The
// first test that asks for it starts it, and Main ends it. A test that needs flags, restarts or kills the product has one of its own. With
// go test -count every round has a product of its own, for tests find their objects there otherwise.
type Shared struct {
	number int

	mu     sync.Mutex
	rounds []*round
}

// round is one product, for the tests of one round.
type round struct {
	tests   map[string]bool // that have asked for it
	once    sync.Once
	product *Product
	err     error
}

// shared are those of the package, for Main.
var shared []*Shared

// NewShared declares a shared product, in a variable of the package.
func NewShared() *Shared {
	s := &Shared{number: len(shared)}
	shared = append(shared, s)
	return s
}

// round is the one of a test: the first in which it has not asked yet. number says which that is.
func (s *Shared) round(test string) (r *round, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.rounds {
		if !r.tests[test] {
			r.tests[test] = true
			return r, i
		}
	}
	r = &round{tests: map[string]bool{test: true}, err: errors.New("the test that was to start it gave up")}
	s.rounds = append(s.rounds, r)
	return r, len(s.rounds) - 1
}

// For is the product under the eyes of one test, which runs beside others from here on.
func (s *Shared) For(t *testing.T) *Product {
	t.Helper()
	t.Parallel()
	r, number := s.round(t.Name())
	r.once.Do(func() {
		r.product, r.err = launch(t, Farrier, filepath.Join(prepared.folder, fmt.Sprintf("shared-%d-%d", s.number, number)))
	})
	if r.err != nil {
		t.Fatalf("the farrier up that tests share: %v", r.err)
	}
	p := *r.product
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

// end stops the products that tests have started, and fails if one has ended before or does not end in order.
func (s *Shared) end() error {
	var errs []error
	for _, r := range s.rounds {
		errs = append(errs, r.end())
	}
	return errors.Join(errs...)
}

func (r *round) end() error {
	if r.product == nil {
		return nil
	}
	if r.product.Exited() {
		return fmt.Errorf("the farrier up that tests share has ended by itself: %w\n%s", r.product.process.err, r.product.Log())
	}
	if err := r.product.process.end(); err != nil {
		return fmt.Errorf("the end of the farrier up that tests share: %w\n%s", err, r.product.Log())
	}
	return nil
}
