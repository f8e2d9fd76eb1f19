package bootstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

const imageKey = "Image/ServerBootConfiguration/ns/c"

// lacks is what a boot server says that cannot fetch some images.
func (r *refusals) lacks(f *following, reason string, keys ...string) {
	h := &streampb.Health{}
	for _, key := range keys {
		h.Unfetched = append(h.Unfetched, &streampb.Unfetched{Key: key, Reason: reason})
	}
	r.healthy(f, h)
}

// TestUnfetchedIsWhatABootServerSaidLast: until it can fetch it, or is gone, or nobody boots it any longer.
func TestUnfetchedIsWhatABootServerSaidLast(t *testing.T) {
	r := newRefusals()
	clock := clocktesting.NewFakeClock(time.Now())
	r.o.Clock = clock
	f := r.follower("boot-1", "")
	r.journal.Put("", machine(imageKey, 1, ""))
	want := func(what string, told []string, by ...RefusedBy) {
		t.Helper()
		if got := r.Unfetched(imageKey); !slices.Equal(got, by) {
			t.Errorf("%s: not fetched by %v, want %v", what, got, by)
		}
		if got := r.news(); !slices.Equal(got, told) {
			t.Errorf("%s: told of %v, want %v", what, got, told)
		}
		clock.Step(r.o.Heartbeat)
	}
	by := RefusedBy{"boot-1", "not found in registry"}
	r.lacks(f, by.Reason, imageKey)
	want("not fetched", []string{imageKey}, by)
	r.journal.Put("", machine(imageKey, 2, ""))
	r.lacks(f, by.Reason, imageKey)
	want("the same in a newer version", nil, by)
	r.lacks(f, "")
	want("fetched", []string{imageKey})
	r.lacks(f, by.Reason, imageKey)
	want("not fetched again", []string{imageKey}, by)
	r.leave(f)
	want("gone", []string{imageKey})
	if got := ExplainUnfetched([]RefusedBy{by}); got != "boot-1 cannot fetch the image: not found in registry" {
		t.Errorf("it says %q", got)
	}
	again := r.follower("boot-1", "")
	r.lacks(again, by.Reason, imageKey)
	r.journal.Delete(imageKey)
	want("booted by nobody", []string{imageKey})
}

// TestWhoSaysTooMuchOfImagesIsNotHeard: whoever has the key of a boot server fills no memory, speaks of no other site, and has conditions written
// once a heartbeat.
func TestWhoSaysTooMuchOfImagesIsNotHeard(t *testing.T) {
	r := newRefusals()
	clock := clocktesting.NewFakeClock(time.Now())
	r.o.Clock = clock
	f := r.follower("boot-1", "north")
	r.journal.Put("south", machine("Image/theirs", 1, ""))
	r.lacks(f, "mine", "Image/theirs", "Image/never")
	if told := r.news(); len(f.unfetched) != 0 || len(told) != 0 || len(r.Unfetched("Image/theirs")) != 0 {
		t.Errorf("remembered %v, told of %v", f.unfetched, told)
	}
	clock.Step(r.o.Heartbeat)
	keys := make([]string, 0, 2*MaxUnfetched)
	for i := range cap(keys) {
		keys = append(keys, fmt.Sprintf("Image/%d", i))
		r.journal.Put("north", machine(keys[i], 2, ""))
	}
	r.lacks(f, strings.Repeat("x", 1<<20), keys...)
	if got := r.Unfetched(keys[0]); len(f.unfetched) != MaxUnfetched || len(got) != 1 || len(got[0].Reason) != mostReason {
		t.Errorf("%d images remembered, of the first %d", len(f.unfetched), len(got))
	}
	r.news()
	r.lacks(f, "another reason", keys...)
	if told := r.news(); len(told) != 0 {
		t.Errorf("heard at once, and told of %d images", len(told))
	}
	if f.health.Unfetched != nil {
		t.Error("what it said is remembered twice")
	}
	r.healthy(f, &streampb.Health{Ready: true, Problems: slices.Repeat([]string{strings.Repeat("\x00", 1<<20)}, 100)})
	if got := f.health.Problems; len(got) != mostProblems || got[0] != strings.Repeat("?", mostReason) {
		t.Errorf("%d problems are remembered, of %d bytes", len(got), len(got[0]))
	}
}
