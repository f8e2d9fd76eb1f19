package connection

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// heard is a source of which can be told who was woken.
func heard(t *testing.T) (*trigger.Source, func() []string) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	s := &trigger.Source{}
	if err := s.Start(context.Background(), queue); err != nil {
		t.Fatal(err)
	}
	return s, func() (names []string) {
		for queue.Len() > 0 {
			req, _ := queue.Get()
			names = append(names, req.Name)
			queue.Done(req)
		}
		slices.Sort(names)
		return names
	}
}

func with(password bmc.Secret) fleet.Spec {
	return fleet.Spec{Endpoint: bmc.Endpoint{Scheme: "http", Host: "10.0.0.1", Port: 80}, Credentials: bmc.Credentials{Username: "u", Password: password}}
}

func TestOneOfSeveralHoldersCounts(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	for name, tc := range map[string]struct {
		first, second Holder
		counts        string
	}{
		"a BMC object before an older Server": {Holder{Inline: true, Name: "s", Created: early}, Holder{Name: "b", Created: late}, "BMC b"},
		"the older BMC object":                {Holder{Name: "a", Created: late}, Holder{Name: "b", Created: early}, "BMC b"},
		"the older Server":                    {Holder{Inline: true, Name: "a", Created: early}, Holder{Inline: true, Name: "b", Created: late}, "Server a"},
		"the first by name":                   {Holder{Name: "b", Created: early}, Holder{Name: "a", Created: early}, "BMC a"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleet.New(fleet.Options{})
			r := NewRegistry(f)
			source, woken := heard(t)
			hold := func(h Holder, password bmc.Secret) string {
				return r.Hold(source, h, with(password)).By
			}
			hold(tc.first, "marker-1")
			by := hold(tc.second, "marker-2")
			if got := woken(); !slices.Equal(got, []string{tc.first.Name}) {
				t.Errorf("woken when the second came: %v", got)
			}
			if tc.counts == tc.first.String() {
				if by != tc.counts {
					t.Errorf("the second is told of %q", by)
				}
			} else if by != "" || hold(tc.first, "marker-1") != tc.counts {
				t.Errorf("the first is not told, the second is told of %q", by)
			}
			for range 5 { // nothing goes back and forth
				hold(tc.first, "marker-1")
				hold(tc.second, "marker-2")
			}
			if got := woken(); len(got) != 0 {
				t.Errorf("woken for nothing: %v", got)
			}
			winner, loser, password := tc.first, tc.second, bmc.Secret("marker-2")
			if tc.counts != tc.first.String() {
				winner, loser, password = tc.second, tc.first, "marker-1"
			}
			if by := hold(loser, map[bmc.Secret]bmc.Secret{"marker-2": "marker-1", "marker-1": "marker-2"}[password]); by != "" {
				t.Errorf("with the same credentials it is told of %q", by)
			}
			woken()
			if _, last := r.Unbind(source, winner.Name); last {
				t.Error("nobody is said to be left")
			}
			if got := woken(); !slices.Equal(got, []string{loser.Name}) {
				t.Errorf("woken when %s went: %v", winner, got)
			}
			if by := hold(loser, password); by != "" {
				t.Errorf("alone, and told of %q", by)
			}
			if text := fmt.Sprintf("%v %+v", r, r); strings.Contains(text, "marker") {
				t.Errorf("a password is shown: %s", text)
			}
		})
	}
}

// Whatever order they come in, the fleet is told one thing.
func TestHoldersAreToldApartUnderLoad(t *testing.T) {
	used := make(chan bmc.Secret, 1000)
	f := fleet.New(fleet.Options{})
	r := NewRegistry(f)
	source := &trigger.Source{}
	r.Hold(source, Holder{Name: "b"}, with("right"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if held := r.Hold(source, Holder{Inline: true, Name: fmt.Sprint(i)}, with("wrong")); held.By != "BMC b" {
					used <- "wrong"
				}
			}
		})
	}
	all.Wait()
	if len(used) > 0 {
		t.Errorf("the wrong credentials were used %d times", len(used))
	}
}
