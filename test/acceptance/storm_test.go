package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
)

// stormVariable says how many machines boot at once; a thousand take minutes.
const stormVariable = "FARRIER_TEST_STORM"

func stormSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv(stormVariable)
	if text == "" {
		return 24
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number of machines", stormVariable, text)
	}
	return n
}

// TestBootStorm: all servers are claimed in one moment. Every answer to every machine is a good one, and what a boot
// fetched is said exactly once.
func TestBootStorm(t *testing.T) {
	n := stormSize(t)
	l := newLab(t, n)
	p := l.up(t)
	l.discover(p)
	turned := watchDeliveries(t, p)
	before := make([]int, n)
	for i := range n {
		before[i] = len(l.Machine(i).Record())
	}
	l.ignition(p, "storm", "ignition")
	var creating sync.WaitGroup
	for i := range n {
		creating.Go(func() {
			c := l.storming(i)
			if err := p.Create(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	for i := range n {
		record := p.boots(l.Machine(i), sim.OutcomeInstalled)
		if boots := len(l.Machine(i).Record()); boots != before[i]+1 {
			t.Errorf("machine %d booted %d times for its claim", i, boots-before[i])
		}
		for _, f := range record.Fetches {
			if f.What == sim.WhatScript && f.Status == http.StatusServiceUnavailable {
				continue // it is faster than the poll of its BMC, and is told to come back
			}
			if f.Status != 200 || f.Error != "" {
				t.Errorf("machine %d: %s: status %d %s", i, f.URL, f.Status, f.Error)
			}
		}
	}
	p.Eventually("all deliveries are said", func(context.Context) error { return turned.each(n, 1) })
}

// turns counts how often a condition of a boot config became True.
type turns struct {
	mu    sync.Mutex
	last  map[string]metav1.ConditionStatus
	count map[string]int
}

// watchDeliveries counts from now on what IPXEBootConfigs of claims say.
func watchDeliveries(t *testing.T, p *running) *turns {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := bootv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.Watch(t.Context(), &bootv1.IPXEBootConfigList{}, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	seen := &turns{last: map[string]metav1.ConditionStatus{}, count: map[string]int{}}
	go seen.follow(events)
	return seen
}

func (s *turns) follow(events watch.Interface) {
	for e := range events.ResultChan() {
		config, ok := e.Object.(*bootv1.IPXEBootConfig)
		if !ok {
			continue
		}
		s.mu.Lock()
		for _, c := range config.Status.Conditions {
			key := config.Name + " " + c.Type
			if c.Status == metav1.ConditionTrue && s.last[key] != metav1.ConditionTrue {
				s.count[key]++
			}
			s.last[key] = c.Status
		}
		s.mu.Unlock()
	}
}

// each reports whether both deliveries of n boots were said so many times, and none more often.
func (s *turns) each(n, times int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIgnitionDataFetched} {
		for i := range n {
			if got := s.count[stormName(i)+" "+kind]; got != times {
				return fmt.Errorf("%s of %s became True %d times", kind, stormName(i), got)
			}
		}
	}
	return nil
}

// storming is a claim for any server, with the ignition of all.
func (l *lab) storming(i int) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: stormName(i)}}
	c.Spec.Power, c.Spec.Image = metalv1.PowerOn, l.Registry.Reference("os", "1")
	c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "storm"}
	return c
}

func stormName(i int) string { return fmt.Sprintf("storm-%04d", i) }
