package system

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// election runs terms: one after the other, each while this process holds the lease.
//
// client-go could release the lease as well, but it does so when the lease is lost, and before what acts has ended.
type election struct {
	lock resourcelock.Interface
	// term acts until its context ends, and returns when all of it has ended.
	term func(context.Context) error
	// lost is told that the lease is lost.
	lost func()

	renewed *renewals       // those of the term that was last
	letGo   func()          // ends them
	gone    <-chan struct{} // closed when they have ended
}

// run runs terms until ctx ends or a term fails. The lease stays with this process until release.
func (e *election) run(ctx context.Context) error {
	for {
		held, err := e.acquire(ctx)
		if err != nil {
			return err
		}
		term, end := context.WithCancel(ctx)
		stop := context.AfterFunc(held, end) // the lease is lost
		go e.renewed.follow(term, end)
		err = e.term(term)
		stop()
		end()
		if err != nil || ctx.Err() != nil {
			return err
		}
		e.lost()
		e.withdraw()
	}
}

// acquire waits for the lease and has it renewed. The context that it returns ends when that fails for too long.
func (e *election) acquire(ctx context.Context) (held context.Context, err error) {
	// What client-go logs of every request that fails, contact says once.
	candidate, letGo := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	e.renewed = &renewals{Interface: e.lock}
	elected, gone := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.renewed, Name: e.lock.Describe(), LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) { elected <- held },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		letGo()
		return nil, fmt.Errorf("leader election: %w", err)
	}
	go func() {
		defer close(gone)
		elector.Run(candidate)
	}()
	e.letGo, e.gone = letGo, gone
	select {
	case held := <-elected:
		return held, nil
	case <-ctx.Done():
		e.withdraw()
		return nil, ctx.Err()
	}
}

// withdraw ends the renewals.
func (e *election) withdraw() {
	if e.letGo != nil {
		e.letGo()
		<-e.gone
		e.letGo = nil
	}
}

// release gives the lease back, if this process has it, so that another need not wait until it expires. It has to come after everything that
// acts has ended.
func (e *election) release() error {
	e.withdraw()
	ctx, cancel := context.WithTimeout(context.Background(), renewDeadline/2)
	defer cancel()
	// The end of the renewals gives up a request that the API may carry out all the same, between a look at the lease and the write that follows it.
	conflicts := func(err error) bool { return apierrors.IsConflict(err) && ctx.Err() == nil }
	err := retry.OnError(retry.DefaultBackoff, conflicts, func() error { return e.releaseOnce(ctx) })
	if err != nil {
		return fmt.Errorf("release the Lease %s: %w", e.lock.Describe(), err)
	}
	return nil
}

func (e *election) releaseOnce(ctx context.Context) error {
	record, _, err := e.lock.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case record.HolderIdentity != e.lock.Identity():
		return nil
	}
	now := metav1.NewTime(time.Now())
	return e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}

// renewals is a lock that knows when its lease was last renewed. client-go counts from the answer to a renewal, and from the pause after it: an API that is
// slow would leave less for the end of a term than the others wait.
type renewals struct {
	resourcelock.Interface
	mu   sync.Mutex
	sent time.Time // the last request that has renewed it
}

// Create implements resourcelock.Interface.
func (r *renewals) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return r.note(r.Interface.Create(ctx, record), sent)
}

// Update implements resourcelock.Interface.
func (r *renewals) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return r.note(r.Interface.Update(ctx, record), sent)
}

func (r *renewals) note(err error, sent time.Time) error {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = sent
	}
	return err
}

// left is how long the lease can count as renewed.
func (r *renewals) left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.sent.Add(renewDeadline))
}

// follow calls end when the lease has not been renewed for too long. It returns when ctx ends.
func (r *renewals) follow(ctx context.Context, end func()) {
	for left := r.left(); left > 0; left = r.left() {
		if sleep(ctx, left) != nil {
			return
		}
	}
	end()
}
