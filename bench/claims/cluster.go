package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	namespace = "default"
	// racks is how many values the label has that claims select by.
	racks     = 50
	rackLabel = "bench/rack"
)

func rackOf(i int) string { return fmt.Sprintf("r%02d", i%racks) }

// populate creates servers that can be claimed.
func populate(ctx context.Context, api *site.API, n int) error {
	return site.Each(ctx, n, func(ctx context.Context, i int) error {
		s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("server-%05d", i), Labels: map[string]string{rackLabel: rackOf(i), "bench/number": fmt.Sprint(i)},
		}}
		s.Spec.SystemUUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if err := api.Create(ctx, s); err != nil {
			return fmt.Errorf("create Server %s: %w", s.Name, err)
		}
		before := s.DeepCopy()
		s.Status.State, s.Status.PowerState = metalv1.ServerStateAvailable, metalv1.PowerStateOff
		s.Status.Conditions = []metav1.Condition{{
			Type: metalv1.ConditionClaimable, Status: metav1.ConditionTrue, Reason: metalv1.ReasonClaimable, LastTransitionTime: metav1.Now(),
		}}
		if err := api.Status().Patch(ctx, s, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("status of Server %s: %w", s.Name, err)
		}
		return nil
	})
}

func claimOf(name string, i int, labelled bool) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.Image, c.Spec.Power = "registry.example/os:1", metalv1.PowerOn
	if labelled {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{rackLabel: rackOf(i)}}
	}
	return c
}

// bound delivers when each claim was seen bound, until ctx ends.
func bound(ctx context.Context, api *site.API) (<-chan seen, error) {
	w, err := api.Watch(ctx, &metalv1.ServerClaimList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("watch claims: %w", err)
	}
	out := make(chan seen)
	go func() {
		defer close(out)
		defer w.Stop()
		known := map[types.UID]bool{}
		for e := range w.ResultChan() {
			c, ok := e.Object.(*metalv1.ServerClaim)
			if !ok || known[c.UID] || c.Status.Phase != metalv1.ServerClaimPhaseBound {
				continue
			}
			known[c.UID] = true
			select {
			case out <- seen{c.Name, time.Now()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

type seen struct {
	claim string
	at    time.Time
}

// tally counts who has what in the end.
func tally(ctx context.Context, api *site.API) (has, twice, lost int, err error) {
	var claims metalv1.ServerClaimList
	var servers metalv1.ServerList
	if err := errors.Join(api.List(ctx, &claims, client.InNamespace(namespace)), api.List(ctx, &servers)); err != nil {
		return 0, 0, 0, err
	}
	servedBy := map[string][]string{}
	for _, s := range servers.Items {
		if ref := s.Spec.ServerClaimRef; ref != nil {
			servedBy[ref.Name] = append(servedBy[ref.Name], s.Name)
		}
	}
	names := map[string]int{}
	for _, c := range claims.Items {
		mine := servedBy[c.Name]
		switch {
		case len(mine) > 1:
			twice++
		case c.Spec.ServerRef == nil || len(mine) == 0 || mine[0] != c.Spec.ServerRef.Name:
			lost++
		default:
			has++
			if names[mine[0]]++; names[mine[0]] > 1 {
				twice++
			}
		}
	}
	return has, twice, lost, nil
}

// reset deletes all claims and makes their servers free, as cleaning would.
func reset(ctx context.Context, api *site.API) error {
	if err := api.DeleteAllOf(ctx, &metalv1.ServerClaim{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("delete claims: %w", err)
	}
	for {
		var left metalv1.ServerClaimList
		if err := api.List(ctx, &left, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return fmt.Errorf("list claims: %w", err)
		}
		if len(left.Items) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := api.DeleteAllOf(ctx, &metalv1.ServerBootConfiguration{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("delete boot configurations: %w", err)
	}
	var servers metalv1.ServerList
	if err := api.List(ctx, &servers); err != nil {
		return fmt.Errorf("list Servers: %w", err)
	}
	return site.Each(ctx, len(servers.Items), func(ctx context.Context, i int) error {
		s := &servers.Items[i]
		if s.Spec.ServerClaimRef == nil {
			return nil
		}
		before := s.DeepCopy()
		s.Spec.ServerClaimRef, s.Spec.BootConfigurationRef = nil, nil
		delete(s.Annotations, metalv1.AnnotationClaimedBy)
		return api.Patch(ctx, s, client.MergeFrom(before))
	})
}
