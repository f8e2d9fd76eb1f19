package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/shard"
)

// namespace is that of the claims.
const namespace = "default"

func (b *bench) shardOf(i int) int { return shard.Of(b.rack.BMCs[i].Name, b.Shards) }

// holders are the holders of all shards, by number.
func (b *bench) holders(ctx context.Context) (map[int]string, error) {
	var list coordinationv1.LeaseList
	if err := b.api.List(ctx, &list, client.InNamespace(site.Namespace), client.HasLabels{metalv1.LabelShards}); err != nil {
		return nil, fmt.Errorf("list Leases: %w", err)
	}
	holders := map[int]string{}
	for i := range list.Items {
		number, of := 0, 0
		lease := &list.Items[i]
		if _, err := fmt.Sscanf(lease.Name, "farrier-shard-%d-of-%d", &number, &of); err != nil || of != b.Shards {
			continue
		}
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
			holders[number] = holder
		}
	}
	return holders, nil
}

// shared waits until every manager has its part of the shards.
func (b *bench) shared(ctx context.Context) error {
	return b.await(ctx, "shards are shared", func() (bool, error) {
		holders, err := b.holders(ctx)
		held := map[string]int{}
		for _, h := range holders {
			held[h]++
		}
		for _, n := range held {
			if n > (b.Shards+b.Managers-1)/b.Managers {
				return false, err
			}
		}
		return len(holders) == b.Shards && len(held) == b.Managers, err
	})
}

// awaitTakeover waits until all shards are held by managers that live, and returns those that changed hands.
func (b *bench) awaitTakeover(ctx context.Context, before map[int]string) (lost map[int]bool, err error) {
	gone := ""
	err = b.await(ctx, "shards of a killed manager are taken over", func() (bool, error) {
		now, err := b.holders(ctx)
		if err != nil {
			return false, err
		}
		lost = map[int]bool{}
		for i, was := range before {
			if now[i] != was {
				gone = was // nobody else gives up a shard when a manager dies
			}
		}
		left := 0
		for i, was := range before {
			if was == gone && gone != "" {
				lost[i] = true
				if now[i] == gone || now[i] == "" {
					left++
				}
			}
		}
		return gone != "" && left == 0, nil
	})
	return lost, err
}

// claim claims machines, one after the other, until there are as many claims as are wanted.
func (b *bench) claim(ctx context.Context) error {
	const pause = 250 * time.Millisecond
	for i := range b.Claims {
		c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("claim-%04d", i)}}
		c.Spec.Image, c.Spec.Power = b.rack.Image(), metalv1.PowerOn
		if err := b.api.Create(ctx, c); err != nil {
			return fmt.Errorf("create claim %s: %w", c.Name, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// bound are the claims that have a server, and how many claims each server has.
func (b *bench) bound(ctx context.Context) (n int, by map[string]int, err error) {
	var list metalv1.ServerClaimList
	if err := b.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return 0, nil, fmt.Errorf("list claims: %w", err)
	}
	by = map[string]int{}
	for i := range list.Items {
		if ref := list.Items[i].Spec.ServerRef; ref != nil {
			n++
			by[ref.Name]++
		}
	}
	return n, by, nil
}

// running counts the claims whose machine runs.
func (b *bench) running(ctx context.Context) (n int, err error) {
	_, by, err := b.bound(ctx)
	if err != nil {
		return 0, err
	}
	var list metalv1.ServerList
	if err := b.api.List(ctx, &list); err != nil {
		return 0, fmt.Errorf("list Servers: %w", err)
	}
	for i := range list.Items {
		s := &list.Items[i]
		if by[s.Name] > 0 && s.Status.State == metalv1.ServerStateReserved && s.Status.PowerState == metalv1.PowerStateOn {
			n++
		}
	}
	return n, nil
}

// awaitClaims waits until the machines of all claims run.
func (b *bench) awaitClaims(ctx context.Context) error {
	return b.await(ctx, "machines of claims run", func() (bool, error) {
		n, err := b.running(ctx)
		return n >= b.Claims, err
	})
}

// verify counts what must not be.
func (b *bench) verify(ctx context.Context) (err error) {
	machines, _, err := b.rack.Machines()
	if err != nil {
		return err
	}
	bound, by, err := b.bound(ctx)
	if err != nil {
		return err
	}
	b.found.Claims, b.found.Bound = b.Claims, bound
	for _, n := range by {
		if n > 1 {
			b.found.Twice++
		}
	}
	claimed := map[string]int{}
	for name, n := range by {
		of, _, _ := strings.Cut(name, "-system-")
		claimed[of] += n
	}
	for i, m := range machines {
		b.found.Logins = max(b.found.Logins, m.Logins)
		if m.OldSessions > 0 {
			b.found.InTurns++
		}
		if m.Resets["On"] > 1+claimed[b.rack.BMCs[i].Name] || m.Resets["ForceRestart"]+m.Resets["GracefulRestart"]+m.Resets["PowerCycle"] > 0 {
			b.found.Repeated++
			fmt.Fprintf(os.Stderr, "%s: resets %v with %d claims\n", b.rack.BMCs[i].Name, m.Resets, claimed[b.rack.BMCs[i].Name])
		}
	}
	b.found.Running, err = b.running(ctx)
	return err
}
