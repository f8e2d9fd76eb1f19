package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/test/await"
)

// until waits for what happens elsewhere. Its condition says what is still missing.
func until(t *testing.T, what string, missing func() string) {
	t.Helper()
	await.Until(t, what, missing)
}

// statement is what an object says in a condition.
type statement struct {
	of      string // BMC or Server
	kind    string
	status  metav1.ConditionStatus
	reason  string
	mention string
}

// conditions reads those of the BMC i, or of its server.
func (s *stand) conditions(t *testing.T, of string, i int) []metav1.Condition {
	t.Helper()
	var bmc metalv1.BMC
	var server metalv1.Server
	var err error
	if of == "Server" {
		err = client.IgnoreNotFound(s.Get(t.Context(), client.ObjectKey{Name: s.serverName(i)}, &server))
		bmc.Status.Conditions = server.Status.Conditions
	} else {
		err = client.IgnoreNotFound(s.Get(t.Context(), client.ObjectKey{Name: s.names[i]}, &bmc))
	}
	if err != nil {
		t.Fatal(err)
	}
	return bmc.Status.Conditions
}

// says waits for a statement.
func (s *stand) says(t *testing.T, i int, want statement) {
	t.Helper()
	until(t, fmt.Sprintf("%s %s says %s=%s %s %q", want.of, s.names[i], want.kind, want.status, want.reason, want.mention), func() string {
		all := s.conditions(t, want.of, i)
		c := apimeta.FindStatusCondition(all, want.kind)
		if c != nil && c.Status == want.status && (want.reason == "" || c.Reason == want.reason) && contains(c.Message, want.mention) {
			return ""
		}
		return fmt.Sprintf("%+v", all)
	})
}

// ready waits until a BMC is looked after, and nothing is said to be wrong with it.
func (s *stand) ready(t *testing.T, which ...int) {
	t.Helper()
	until(t, "the BMCs are ready", func() string {
		var list metalv1.BMCList
		if err := s.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for _, i := range which {
			at := slices.IndexFunc(list.Items, func(b metalv1.BMC) bool { return b.Name == s.names[i] })
			if at < 0 {
				return s.names[i] + " is not there"
			}
			if all := list.Items[at].Status.Conditions; !apimeta.IsStatusConditionTrue(all, metalv1.ConditionReady) ||
				apimeta.IsStatusConditionTrue(all, metalv1.ConditionDegraded) {
				return fmt.Sprintf("%s: %+v", s.names[i], all)
			}
		}
		return ""
	})
}

// inventoried waits until the rack is known in whole, and nothing but polls goes on.
func (s *stand) inventoried(t *testing.T) {
	t.Helper()
	s.ready(t, others()...)
	until(t, "the rack is known", func() string {
		for i := range bmcs {
			o, _ := s.fleet.Observe(s.key(i))
			if len(o.Systems) != 1 || o.Systems[0].Inventory == nil || o.Manager.URI == "" {
				return fmt.Sprintf("%s: %+v", s.names[i], o)
			}
			subscribed := apimeta.FindStatusCondition(s.conditions(t, "BMC", i), "EventsSubscribed")
			free := apimeta.FindStatusCondition(s.conditions(t, "Server", i), metalv1.ConditionDiscovered)
			if subscribed == nil || subscribed.Status != metav1.ConditionTrue || free == nil || free.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s: %+v, %+v", s.names[i], subscribed, free)
			}
		}
		return ""
	})
}

func (s *stand) key(i int) fleet.Key {
	info := s.BMCs()[i]
	return fleet.Key(info.URL())
}

func (s *stand) serverName(i int) string { return s.names[i] + "-system-0" }

// others are all BMCs but those.
func others(but ...int) []int {
	var all []int
	for i := range bmcs {
		if !slices.Contains(but, i) {
			all = append(all, i)
		}
	}
	return all
}

// schedule is how often each BMC was polled up to a moment.
type schedule struct {
	at    time.Time
	polls [bmcs]int64
}

func (s *stand) schedule() schedule {
	from := schedule{at: time.Now()}
	for i := range bmcs {
		from.polls[i] = s.polls[i].Load()
	}
	return from
}

// slack is for polls that have begun when counting begins, for those that a busy machine was late with by then, and for the look at a
// system that comes with the list of systems, now and then and with all BMCs at about the same time.
const slack = 3

// keptSince checks that BMCs were, and are, polled on their schedule since from: every one of them so and so often,
// none much less often than the others, and none more often than the interval says. How fast that is
// in seconds depends on the machine, and is no matter.
func (s *stand) keptSince(t *testing.T, from schedule, healthy []int) {
	t.Helper()
	const laps = 3
	until(t, "every healthy BMC is polled", func() string {
		for _, i := range healthy {
			if n := s.polls[i].Load() - from.polls[i]; n < laps {
				return fmt.Sprintf("%s was polled %d times", s.names[i], n)
			}
		}
		return ""
	})
	now := s.schedule()
	counts := make([]int64, 0, len(healthy))
	for _, i := range healthy {
		counts = append(counts, now.polls[i]-from.polls[i])
	}
	sorted := slices.Sorted(slices.Values(counts))
	median := sorted[len(sorted)/2]
	most := int64(float64(time.Since(from.at))/(0.95*float64(interval))) + slack
	for n, i := range healthy {
		if got := counts[n]; got > most || 2*(got+slack) < median {
			t.Errorf("healthy %s was polled %d times, the others %d; the interval makes that %d at most", s.names[i], got, median, most)
		}
	}
}
