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

func TestTheFirstCandidateCounts(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	for name, tc := range map[string]struct {
		first, second Candidate
		counts        string
	}{
		"a BMC object before an older Server": {Candidate{Inline: true, Name: "s", Created: early}, Candidate{Name: "b", Created: late}, "BMC b"},
		"the older BMC object":                {Candidate{Name: "a", Created: late}, Candidate{Name: "b", Created: early}, "BMC b"},
		"the older Server":                    {Candidate{Inline: true, Name: "a", Created: early}, Candidate{Inline: true, Name: "b", Created: late}, "Server a"},
		"the first by name":                   {Candidate{Name: "b", Created: early}, Candidate{Name: "a", Created: early}, "BMC a"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleet.New(fleet.Options{})
			r := NewRegistry(f)
			source, woken := heard(t)
			connect := func(h Candidate, password bmc.Secret) string {
				return r.Connect(source, h, with(password)).Instead
			}
			connect(tc.first, "marker-1")
			by := connect(tc.second, "marker-2")
			if got := woken(); !slices.Equal(got, []string{tc.first.Name}) {
				t.Errorf("woken when the second came: %v", got)
			}
			if tc.counts == tc.first.String() {
				if by != tc.counts {
					t.Errorf("the second is told of %q", by)
				}
			} else if by != "" || connect(tc.first, "marker-1") != tc.counts {
				t.Errorf("the first is not told, the second is told of %q", by)
			}
			for range 5 { // nothing goes back and forth
				connect(tc.first, "marker-1")
				connect(tc.second, "marker-2")
			}
			if got := woken(); len(got) != 0 {
				t.Errorf("woken for nothing: %v", got)
			}
			winner, loser, password := tc.first, tc.second, bmc.Secret("marker-2")
			if tc.counts != tc.first.String() {
				winner, loser, password = tc.second, tc.first, "marker-1"
			}
			if by := connect(loser, map[bmc.Secret]bmc.Secret{"marker-2": "marker-1", "marker-1": "marker-2"}[password]); by != "" {
				t.Errorf("with the same credentials it is told of %q", by)
			}
			woken()
			if _, last := r.Unbind(source, winner.Name); last {
				t.Error("nobody is said to be left")
			}
			if got := woken(); !slices.Equal(got, []string{loser.Name}) {
				t.Errorf("woken when %s went: %v", winner, got)
			}
			if by := connect(loser, password); by != "" {
				t.Errorf("alone, and told of %q", by)
			}
			if text := fmt.Sprintf("%v %+v", r, r); strings.Contains(text, "marker") {
				t.Errorf("a password is shown: %s", text)
			}
		})
	}
}

// Whatever order they come in, the fleet is told one thing.
func TestCandidatesUnderLoad(t *testing.T) {
	used := make(chan bmc.Secret, 1000)
	f := fleet.New(fleet.Options{})
	r := NewRegistry(f)
	source := &trigger.Source{}
	r.Connect(source, Candidate{Name: "b"}, with("right"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if connected := r.Connect(source, Candidate{Inline: true, Name: fmt.Sprint(i)}, with("wrong")); connected.Instead != "BMC b" {
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

// TestTheCertificateOfTheFirstCandidateCounts: one BMC is trusted by one rule, whose ever it is.
func TestTheCertificateOfTheFirstCandidateCounts(t *testing.T) {
	f := fleet.New(fleet.Options{})
	r := NewRegistry(f)
	source, woken := heard(t)
	accepted, other := bmc.AcceptCertificate(strings.Repeat("AB", 32)), bmc.AcceptCertificate(strings.Repeat("CD", 32))
	first, second := Candidate{Name: "b"}, Candidate{Inline: true, Name: "s"}
	connect := func(c Candidate, certificate bmc.AcceptedCertificate) Connected {
		spec := with("marker-1")
		spec.Certificate = certificate
		return r.Connect(source, c, spec)
	}
	connect(first, accepted)
	if got := connect(second, other); got.Counts != first || got.Certificate != accepted || got.Instead != "" {
		t.Errorf("%+v", got)
	}
	woken()
	if got := connect(first, other); got.Counts != first || got.Certificate != other {
		t.Errorf("%+v", got)
	}
	if got := woken(); !slices.Equal(got, []string{"s"}) {
		t.Errorf("woken by another certificate: %v", got)
	}
	r.Withdraw(source, "b")
	if got := connect(second, accepted); got.Counts != second || got.Certificate != accepted {
		t.Errorf("%+v", got)
	}
}
