package blobcache

import (
	"slices"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestKept: by repository what is there of what somebody boots, and what is left of others.
func TestKept(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	want := func(kept ...Kept) {
		t.Helper()
		if got := s.Kept(); !slices.Equal(got, kept) {
			t.Errorf("%+v, want %+v", got, kept)
		}
	}
	want()
	plan := planOf(remote, "org/os", image, pushed)
	layers := len(plan.Layers())
	var bytes int64
	for _, layer := range plan.Layers() {
		bytes += layer.Size
	}
	if err := s.Pin("default/web", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Cache, plan)
	name := registry.Reference{Registry: plan.Registry, Repository: plan.Repository}.Name()
	want(Kept{Name: name, Blobs: layers, Wanted: layers, Bytes: bytes})
	s.Unpin("default/web")
	want(Kept{Blobs: layers, Wanted: layers, Bytes: bytes})
}
