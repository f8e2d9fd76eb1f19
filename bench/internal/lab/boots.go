package lab

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	namespace = "default"
	// awaitTimeout is how long it may take until the boot configs say what is waited for: that each is ready, or tells of a boot.
	awaitTimeout = 2 * time.Minute
	awaitEvery   = 500 * time.Millisecond
)

// CreateBoots makes the boot configs of machines and waits until each is ready.
func (l *Lab) CreateBoots(ctx context.Context, machines int, spec func(i int) bootv1.IPXEBootConfigSpec) error {
	err := site.Each(ctx, machines, func(ctx context.Context, i int) error {
		boot := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machineName(i)}, Spec: spec(i)}
		if err := l.API.Create(ctx, boot); err != nil {
			return fmt.Errorf("create %s: %w", boot.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.await(ctx, "ready", machines, func(boots []bootv1.IPXEBootConfig) (n int) {
		for i := range boots {
			if boots[i].Status.State == bootv1.IPXEBootConfigStateReady {
				n++
			}
		}
		return n
	})
}

// Recorded waits until the conditions of machines, from the first of them on, tell that they have booted, and returns when the API took the first
// and the last of those. The API tells it in whole seconds.
func (l *Lab) Recorded(ctx context.Context, first, machines int) (from, until time.Time, err error) {
	err = l.await(ctx, "recorded", machines, func(boots []bootv1.IPXEBootConfig) (n int) {
		from, until = time.Time{}, time.Time{}
		for i := range boots {
			boot := &boots[i]
			if boot.Name < machineName(first) || boot.Name >= machineName(first+machines) || !apimeta.IsStatusConditionTrue(boot.Status.Conditions, bootv1.ConditionIPXEScriptFetched) {
				continue
			}
			n++
			at := written(boot)
			if from.IsZero() || at.Before(from) {
				from = at
			}
			if at.After(until) {
				until = at
			}
		}
		return n
	})
	return from, until, err
}

// await waits until count finds so many boot configs.
func (l *Lab) await(ctx context.Context, what string, machines int, count func([]bootv1.IPXEBootConfig) int) error {
	for end := time.Now().Add(awaitTimeout); ; {
		var list bootv1.IPXEBootConfigList
		if err := l.API.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		n := count(list.Items)
		if n >= machines {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d boot configs are %s after %v", n, machines, what, awaitTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Exited():
			return l.Err()
		case <-time.After(awaitEvery):
		}
	}
}

// machineName is the name of a machine's boot config. They are in the order of the machines.
func machineName(i int) string { return fmt.Sprintf("machine-%06d", i) }

// written is when the status of an object was last written.
func written(object client.Object) (at time.Time) {
	for _, fields := range object.GetManagedFields() {
		if fields.Subresource == "status" && fields.Time != nil && fields.Time.After(at) {
			at = fields.Time.Time
		}
	}
	return at
}
