package blobcache

import (
	"fmt"
	"slices"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestPinsAreObserved: an observer is told of what is new, also where it leads to the same layers, and of nothing else.
func TestPinsAreObserved(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	plan := planOf(remote, "org/os", image, imagetest.Push(t, remote, "v1", image))
	s := startBlobs(t, registryOptions(remote))
	var told []string
	s.ObservePins(
		func(owner string, pin registry.Pin) {
			told = append(told, fmt.Sprintf("%s at %q by %q of %d", owner, pin.Site, pin.PullSecret, pin.Version))
		},
		func(owner string) { told = append(told, owner+" no longer") },
	)
	pin := registry.Pin{Plan: plan, Version: 1}
	s.Unpin("ns/one")
	for _, pin := range []registry.Pin{pin, pin, {Plan: plan, Version: 2}, {Plan: plan, Version: 2, Site: "hall-2"}, {Plan: plan, Version: 2, Site: "hall-2", PullSecret: []byte("{}")}} {
		if err := s.Pin("ns/one", pin); err != nil {
			t.Fatal(err)
		}
	}
	s.Unpin("ns/one")
	s.Unpin("ns/one")
	want := []string{
		`ns/one at "" by "" of 1`, `ns/one at "" by "" of 2`, `ns/one at "hall-2" by "" of 2`, `ns/one at "hall-2" by "{}" of 2`, "ns/one no longer",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
