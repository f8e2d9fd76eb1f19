package system

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// leaseStore are the Leases of a namespace in memory, with the optimistic locks of a real API.
type leaseStore struct {
	mu      sync.Mutex
	by      map[string]*coordinationv1.Lease
	version int
}

func (s *leaseStore) get(name string) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease := s.by[name]; lease != nil {
		return lease.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(leaseResource, name)
}

func (s *leaseStore) list(selector labels.Selector) *coordinationv1.LeaseList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &coordinationv1.LeaseList{}
	for _, lease := range s.by {
		if selector.Matches(labels.Set(lease.Labels)) {
			list.Items = append(list.Items, *lease.DeepCopy())
		}
	}
	return list
}

// put creates a Lease, or updates one of which the newest version is known.
func (s *leaseStore) put(lease *coordinationv1.Lease, create bool) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.by[lease.Name]
	switch {
	case create && old != nil:
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	case !create && old == nil:
		return nil, apierrors.NewNotFound(leaseResource, lease.Name)
	case !create && (old.ResourceVersion != lease.ResourceVersion || old.UID != lease.UID):
		return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("modified"))
	}
	stored := lease.DeepCopy()
	s.version++
	stored.ResourceVersion = strconv.Itoa(s.version)
	if create {
		stored.UID = types.UID("uid-" + stored.ResourceVersion)
	}
	if s.by == nil {
		s.by = map[string]*coordinationv1.Lease{}
	}
	s.by[lease.Name] = stored
	return stored.DeepCopy(), nil
}

func (s *leaseStore) delete(name string, only *metav1.Preconditions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.by[name]
	switch {
	case old == nil:
		return apierrors.NewNotFound(leaseResource, name)
	case only != nil && (only.UID != nil && *only.UID != old.UID || only.ResourceVersion != nil && *only.ResourceVersion != old.ResourceVersion):
		return apierrors.NewConflict(leaseResource, name, errors.New("modified"))
	}
	delete(s.by, name)
	return nil
}

// trouble is what a manager has with its API.
type trouble int

const (
	none    trouble = iota
	refuses         // every request fails at once
	hangs           // no request is carried out, and each is given up
	slow            // requests are carried out, and answered seconds later
	blind           // lists fail, and nothing else
	flaky           // every other request fails
	deaf            // what reads is not answered, and what writes is
	dead            // there is no manager any more
)

// leaseLink is one manager's way to a leaseStore. What it does not implement, nobody asks for.
type leaseLink struct {
	coordinationclient.LeaseInterface
	store *leaseStore

	mu     sync.Mutex
	chance *rand.Rand
	state  trouble
}

func (l *leaseLink) Leases(string) coordinationclient.LeaseInterface { return l }

func (l *leaseLink) set(state trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != dead {
		l.state = state
	}
}

func (l *leaseLink) now() trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// upTo returns a random duration.
func (l *leaseLink) upTo(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.chance.Int64N(int64(d)))
}

// request carries out one request. An answer can be lost, and what was asked for done all the same.
func (l *leaseLink) request(ctx context.Context, reads bool, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline/2) // newLeases
	defer cancel()
	if err := sleep(ctx, l.upTo(50*time.Millisecond)); err != nil {
		return err
	}
	state := l.now()
	switch {
	case state == refuses, state == dead, state == flaky && l.upTo(2) == 0:
		return apierrors.NewServiceUnavailable("away")
	case state == hangs, state == deaf && reads:
		<-ctx.Done()
		return ctx.Err()
	}
	err := do()
	answer := 50 * time.Millisecond
	if l.now() == slow {
		answer = renewDeadline/2 - time.Second/2
	}
	if late := sleep(ctx, l.upTo(answer)); late != nil {
		return late
	}
	if now := l.now(); now == refuses || now == dead || now == hangs {
		return apierrors.NewServiceUnavailable("away")
	}
	return err
}

func (l *leaseLink) Get(ctx context.Context, name string, _ metav1.GetOptions) (lease *coordinationv1.Lease, err error) {
	err = l.request(ctx, true, func() (err error) { lease, err = l.store.get(name); return err })
	return lease, err
}

func (l *leaseLink) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (stored *coordinationv1.Lease, err error) {
	err = l.request(ctx, false, func() (err error) { stored, err = l.store.put(lease, true); return err })
	return stored, err
}

func (l *leaseLink) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (stored *coordinationv1.Lease, err error) {
	err = l.request(ctx, false, func() (err error) { stored, err = l.store.put(lease, false); return err })
	return stored, err
}

func (l *leaseLink) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return l.request(ctx, false, func() error { return l.store.delete(name, o.Preconditions) })
}

func (l *leaseLink) List(ctx context.Context, o metav1.ListOptions) (list *coordinationv1.LeaseList, err error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	err = l.request(ctx, true, func() error { list = l.store.list(selector); return nil })
	if err == nil && l.now() == blind {
		return nil, apierrors.NewServiceUnavailable("away")
	}
	return list, err
}
