package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/shard"
)

// sharding has this process hold its part of the shards.
//
// Every manager says that it lives, by a Lease of its own. From those that live every manager computes which shards it shall hold (package shard), stands
// for the Leases of these, and gives up the others. It acts on a shard only while it has the Lease of it, in a term of its own that ends before the Lease
// goes. So nothing depends on all managers knowing the same at the same time.
//
// How many shards there are is said by the Lease of the leader. A manager with another number holds none. It begins a term only when, after it has got
// the Lease of the shard, the leader's Lease still says its number, and nobody holds a shard of another division. A leader that does not divide looks for
// holders of shards after it has got its Lease (undivided). Of two that begin at the same time, at least one sees the other and waits.
type sharding struct {
	shards   int
	identity string
	// leases are those of the manager's namespace, and leader is the name of the leader's.
	leases coordinationclient.LeaseInterface
	leader string
	// named gives a Lease the name that this installation has for it.
	named func(string) string
	// lock is that of the Lease of a shard.
	lock func(name string) resourcelock.Interface
	// term acts on a shard until its context ends, and returns when all of it has ended.
	term func(ctx context.Context, number int) error
	// known is what the leader's Lease says, and since when nothing newer is known.
	known func() (division, time.Time)
	// fail is told of a term that has failed.
	fail   func(error)
	logger logr.Logger

	mu   sync.Mutex
	seen sightings
	held map[int]*holding
	// renewed is when this process last said that it lives.
	renewed time.Time
}

// holding is a shard that this process stands for or holds.
type holding struct {
	end  context.CancelFunc
	done chan struct{} // closed when the term has ended, and its Lease is released
}

// Names of Leases. That of a shard says how many there are: shards of two divisions have nothing to do with each other.
const (
	memberPrefix = "farrier-member-"
	shardPrefix  = "farrier-shard-"
)

func (h *sharding) shardName(i int) string {
	return h.named(fmt.Sprintf("%s%d-of-%d", shardPrefix, i, h.shards))
}

func (h *sharding) memberName() string {
	return h.named(memberPrefix + h.identity[strings.LastIndex(h.identity, "_")+1:]) // the name of a host may have any character
}

// leaseLabels are those of all Leases about shards.
func leaseLabels(shards int) map[string]string {
	return map[string]string{metalv1.LabelShards: strconv.Itoa(shards)}
}

// run holds shards until ctx ends, and returns when all of them are given up.
func (h *sharding) run(ctx context.Context) {
	var guard sync.WaitGroup
	guard.Go(func() { h.guard(ctx) })
	for {
		h.turn(ctx)
		if sleep(ctx, retryPeriod) != nil {
			break
		}
	}
	guard.Wait()
	h.endAll()
	for _, held := range h.held {
		<-held.done
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewDeadline/2)
	defer cancel()
	if err := h.leases.Delete(ctx, h.memberName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		h.logger.V(1).Info("member lease not deleted: others take this manager for alive until it expires", "error", err)
	}
}

// guard ends what this process does with shards as soon as the leader may say something else, also while an API that does not answer keeps turn.
func (h *sharding) guard(ctx context.Context) {
	for sleep(ctx, retryPeriod/4) == nil {
		if !h.divides(time.Now()) {
			h.endAll()
		}
	}
}

func (h *sharding) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.held {
		held.end()
	}
}

// divides reports whether the leader divides BMCs as this process does, as far as is known at a time.
func (h *sharding) divides(now time.Time) bool {
	d, at := h.known()
	return d.shards == h.shards && !d.paused && now.Sub(at) < renewDeadline
}

// turn says that this process lives, looks who else does, and stands for the shards that are its part.
func (h *sharding) turn(ctx context.Context) {
	begun := time.Now()
	if err := h.renew(ctx); err == nil {
		h.renewed = begun
	} else if ctx.Err() == nil {
		h.logger.V(1).Info("member lease not renewed", "error", err)
	}
	if err := h.look(ctx); err == nil {
		h.removeGone(ctx)
	} else if ctx.Err() == nil {
		h.logger.V(1).Info("leases of shards not read", "error", err)
	}
	if ctx.Err() != nil {
		return
	}
	wanted := h.wanted(time.Now())
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, held := range h.held {
		switch {
		case closed(held.done):
			delete(h.held, i)
		case !wanted[i]:
			held.end()
		}
	}
	for i := range wanted {
		if h.held[i] == nil {
			h.held[i] = h.stand(ctx, i)
		}
	}
}

// look has all Leases about shards seen.
func (h *sharding) look(ctx context.Context) error {
	asked := time.Now()
	list, err := listLeases(ctx, h.leases, h.named)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.see(list, asked, time.Now())
	return nil
}

// wanted are the shards that this process shall hold at a time.
func (h *sharding) wanted(now time.Time) map[int]bool {
	wanted := map[int]bool{}
	if !h.divides(now) || now.Sub(h.renewed) > renewDeadline {
		return wanted
	}
	for i, holder := range shard.Holders(h.holders(), h.members()) {
		if holder == h.identity {
			wanted[i] = true
		}
	}
	return wanted
}

// members are the managers that live, with this one.
func (h *sharding) members() []string {
	members := []string{h.identity}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, s := range h.seen.by {
		if strings.HasPrefix(name, memberPrefix) && s.held() && s.of(h.shards) {
			members = append(members, *s.lease.Spec.HolderIdentity)
		}
	}
	return members
}

// holders are those of all shards, as their Leases name them. Some may be gone.
func (h *sharding) holders() []string {
	holders := make([]string, h.shards)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range holders {
		if s := h.seen.by[h.shardName(i)]; s.lease != nil {
			holders[i] = ptr.Deref(s.lease.Spec.HolderIdentity, "")
		}
	}
	return holders
}

// stand has this process stand for a shard, and act on it while it has the Lease.
func (h *sharding) stand(ctx context.Context, i int) *holding {
	ctx, cancel := context.WithCancel(ctx)
	held := &holding{end: cancel, done: make(chan struct{})}
	e := &election{
		lock: &impatient{Interface: h.lock(h.shardName(i)), gone: func(record *resourcelock.LeaderElectionRecord) bool { return h.gone(h.shardName(i), record) }},
		lost: func() { h.logger.Info("lost the lease of a shard: its controllers are stopped", "shard", i) },
	}
	e.term = func(ctx context.Context) error {
		if err := h.confirm(ctx); err != nil {
			return err
		}
		h.logger.Info("holds a shard", "shard", i)
		return h.term(ctx, i)
	}
	go func() {
		defer close(held.done)
		defer cancel()
		err := e.run(ctx)
		if failed := e.release(); failed != nil {
			h.logger.Info("lease of a shard not released: the next manager waits until it expires", "shard", i, "error", failed)
		}
		var undecided *unconfirmedError
		switch {
		case errors.As(err, &undecided):
			h.logger.Info("waits with a shard", "shard", i, "error", err)
		case err != nil && ctx.Err() == nil:
			h.fail(fmt.Errorf("shard %d: %w", i, err))
		}
	}()
	return held
}

// unconfirmedError is why a term of a shard does not begin now. It is tried again.
type unconfirmedError struct{ reason string }

func (e *unconfirmedError) Error() string { return e.reason }

// confirm reports whether a term may begin of a shard whose Lease this process has got: the API is asked, and no cache.
func (h *sharding) confirm(ctx context.Context) error {
	lease, err := h.leases.Get(ctx, h.leader, metav1.GetOptions{})
	if err != nil {
		return &unconfirmedError{fmt.Sprintf("the Lease %s cannot be read: %v", h.leader, err)}
	}
	if d := divisionOf(lease); d.paused || d.shards != h.shards {
		return &unconfirmedError{fmt.Sprintf("the manager that leads does not divide BMCs into %d shards", h.shards)}
	}
	if err := h.look(ctx); err != nil {
		return &unconfirmedError{fmt.Sprintf("the Leases of shards cannot be read: %v", err)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := heldShard(h.seen, h.shards); other != "" {
		return &unconfirmedError{fmt.Sprintf("a manager that divides BMCs otherwise still holds the Lease %s", other)}
	}
	return nil
}

// heldShard returns the Lease of a shard that somebody may hold and that belongs to another division than the one into that many shards.
func heldShard(seen sightings, shards int) string {
	for _, name := range slices.Sorted(maps.Keys(seen.by)) {
		s := seen.by[name]
		if strings.HasPrefix(name, shardPrefix) && !s.of(shards) && s.held() {
			return name
		}
	}
	return ""
}

// gone reports whether a Lease that is as a record says has not been renewed for as long as it is valid.
func (h *sharding) gone(name string, record *resourcelock.LeaderElectionRecord) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen.by[name].gone(record)
}

// listLeases lists the Leases about shards that have the name which this installation gives them: another one has its own in the same namespace.
func listLeases(ctx context.Context, leases coordinationclient.LeaseInterface, named func(string) string) ([]coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline/2)
	defer cancel()
	list, err := leases.List(ctx, metav1.ListOptions{LabelSelector: metalv1.LabelShards})
	if err != nil {
		return nil, fmt.Errorf("list Leases: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(lease coordinationv1.Lease) bool {
		name, _, _ := strings.Cut(lease.Name, ".") // package watchfilter
		return named(name) != lease.Name
	}), nil
}

// renew says that this process lives.
func (h *sharding) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline/2)
	defer cancel()
	now := metav1.NowMicro()
	lease, err := h.leases.Get(ctx, h.memberName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: h.memberName(), Labels: leaseLabels(h.shards)},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &h.identity, LeaseDurationSeconds: ptr.To(int32(leaseDuration / time.Second)), AcquireTime: &now, RenewTime: &now,
			},
		}
		_, err = h.leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: metalv1.FieldManager})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = h.leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: metalv1.FieldManager})
	return err
}

// removeGone deletes what nobody counts any more: Leases of managers that ended without a word, and of shards of other divisions.
func (h *sharding) removeGone(ctx context.Context) {
	h.mu.Lock()
	seen := h.seen.by // which is replaced, and never changed
	h.mu.Unlock()
	for name, s := range seen {
		if s.unchanged < forgetAfter || strings.HasPrefix(name, shardPrefix) && s.of(h.shards) {
			continue
		}
		unchanged := metav1.Preconditions{UID: &s.lease.UID, ResourceVersion: &s.lease.ResourceVersion}
		if err := h.leases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &unchanged}); err != nil && !apierrors.IsNotFound(err) {
			h.logger.V(1).Info("lease that nobody holds not deleted", "lease", name, "error", err)
		}
	}
}

// forgetAfter is how long a Lease stays after its last renewal.
const forgetAfter = 10 * leaseDuration

// newSharding makes what holds this process's part of the shards.
func (s *System) newSharding(client coordinationclient.LeasesGetter, identity string) *sharding {
	namespace := s.settings.ManagerNamespace
	return &sharding{
		shards: s.settings.Shards, identity: identity, leases: client.Leases(namespace), leader: s.leaseName(), named: s.settings.filter.Named,
		lock: func(name string) resourcelock.Interface {
			return &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Client: client, Labels: leaseLabels(s.settings.Shards),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			}
		},
		term: s.runShard, known: s.divided.known, fail: s.fail, logger: s.logger.WithName("shards"), held: map[int]*holding{},
	}
}
