package bootstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// refusals is a server whose followers only acknowledge.
type refusals struct {
	*Server
	journal *Journal
	told    []string
}

func newRefusals() *refusals {
	r := &refusals{journal: NewJournal()}
	r.Server = NewServer(ServerOptions{Journal: r.journal, Reached: func(keys []string) { r.told = append(r.told, keys...) }})
	return r
}

func (r *refusals) follower(name, site string) *following {
	f := &following{peer: Peer{Name: name, Site: site}, refused: map[string]*streampb.Refusal{}}
	r.join(f)
	return f
}

// refuse is the acknowledgement of a boot server that has everything and cannot use the newest record of some keys.
func (r *refusals) refuse(f *following, reason string, keys ...string) {
	ack := &streampb.Ack{Counter: r.journal.Counter()}
	for _, key := range keys {
		counter, _ := r.journal.CounterOf(key)
		ack.Refused = append(ack.Refused, &streampb.Refusal{Key: key, Counter: counter, Reason: reason})
	}
	r.acknowledged(f, ack)
}

// news returns what was told since it was asked last.
func (r *refusals) news() []string {
	defer func() { r.told = nil }()
	return r.told
}

const profileKey = "Profile/ns/p"

// TestARefusalLastsUntilTheNewestRecordIsAcknowledged: the condition that says of it gives the object a new version, which is sent. A refusal that ended
// with that would be taken back and said again without end.
func TestARefusalLastsUntilTheNewestRecordIsAcknowledged(t *testing.T) {
	r := newRefusals()
	f := r.follower("boot-1", "")
	want := func(what string, told []string, by ...RefusedBy) {
		t.Helper()
		if got := r.Refusals(profileKey); !slices.Equal(got, by) {
			t.Errorf("%s: refused by %v, want %v", what, got, by)
		}
		if got := r.news(); !slices.Equal(got, told) {
			t.Errorf("%s: told of %v, want %v", what, got, told)
		}
	}
	by := RefusedBy{"boot-1", "no script"}
	r.journal.Put(booturl.EverySite, machine(profileKey, 1, "bad"))
	r.refuse(f, by.Reason, profileKey)
	want("refused", []string{profileKey}, by)
	r.journal.Put(booturl.EverySite, machine(profileKey, 2, "bad"))
	want("a newer version on its way", nil, by)
	r.refuse(f, by.Reason, profileKey)
	want("refused again", nil, by)
	r.journal.Put(booturl.EverySite, machine(profileKey, 3, "good"))
	r.refuse(f, "")
	want("accepted", []string{profileKey})
	r.journal.Put(booturl.EverySite, machine(profileKey, 4, "bad"))
	r.refuse(f, by.Reason, profileKey)
	want("refused later", []string{profileKey}, by)
	r.leave(f)
	want("gone", []string{profileKey})
}

// TestWhatIsNotRefusedByItsOwnIsForgotten: whoever has the key of a boot server fills no memory, and no conditions of other sites.
func TestWhatIsNotRefusedByItsOwnIsForgotten(t *testing.T) {
	r := newRefusals()
	f := r.follower("boot-1", "north")
	r.journal.Put("south", machine("Kind/ns/south", 1, "theirs"))
	r.journal.Put("north", machine("Kind/ns/gone", 2, "gone"))
	r.journal.Delete("Kind/ns/gone")
	r.refuse(f, "mine", "Kind/ns/south", "Kind/ns/gone", "Kind/ns/never")
	if told := r.news(); len(f.refused) != 0 || len(told) != 0 || len(r.Refusals("Kind/ns/south")) != 0 {
		t.Errorf("remembered %v, told of %v", f.refused, told)
	}
	keys := make([]string, 0, 2*mostRefused)
	for i := range cap(keys) {
		keys = append(keys, fmt.Sprintf("Kind/ns/%d", i))
		r.journal.Put("north", machine(keys[i], 3, "ours"))
	}
	r.refuse(f, "two\nlines "+strings.Repeat("x", 1<<20), keys...)
	if len(f.refused) != mostRefused {
		t.Errorf("%d refusals remembered, want %d", len(f.refused), mostRefused)
	}
	for _, refused := range r.Refusals(keys[0]) {
		if len(refused.Reason) != mostReason || strings.Contains(refused.Reason, "\n") {
			t.Errorf("reason of %d bytes: %.40q", len(refused.Reason), refused.Reason)
		}
	}
	if n := len(r.Refusals(keys[0])); n != 1 {
		t.Errorf("refused by %d boot servers, want 1", n)
	}
}

// TestASentenceOfRefusalsIsBounded: processes that share a certificate are one boot server, and not all are named.
func TestASentenceOfRefusalsIsBounded(t *testing.T) {
	r := newRefusals()
	r.journal.Put(booturl.EverySite, machine(profileKey, 1, "bad"))
	for i := range 3 * mostNamed {
		r.refuse(r.follower(fmt.Sprintf("boot-%02d", i/2), ""), strings.Repeat("x", mostReason), profileKey)
	}
	got := Explain(r.Refusals(profileKey))
	if strings.Count(got, "boot-00 ") != 1 || !strings.Contains(got, "boot-07 ") || strings.Contains(got, "boot-08 ") || !strings.HasSuffix(got, "; and 4 more boot servers") {
		t.Errorf("it says %q", got)
	}
	if got := Explain(nil); got != "" {
		t.Errorf("without a refusal it says %q", got)
	}
}
