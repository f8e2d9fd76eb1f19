package allocator

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAClaimOfTheSameNameFreesWhatTheOneBeforeWasGiven: nobody has said that that is gone, and who waits gets it.
func TestAClaimOfTheSameNameFreesWhatTheOneBeforeWasGiven(t *testing.T) {
	m := labelled("size", "m")
	for name, again := range map[string]*metalv1.ServerClaim{
		"asks for what is not there": asking("a", selecting("size", "l"), createdAt(9)),
		"asks for the same":          asking("a", selecting("size", "m"), createdAt(9)),
		"asks for nonsense":          asking("a", expression("size", "Near"), createdAt(9)),
	} {
		t.Run(name, func(t *testing.T) {
			p := poolOf([]*metalv1.Server{available("s", m)}, asking("a", selecting("size", "m"), createdAt(0)), asking("b", selecting("size", "m"), createdAt(1)),
				asking("d", selecting("size", "l"), createdAt(2)))
			if got := matched(p); got["a"] != "s" {
				t.Fatalf("matched %v", got)
			}
			again.UID = "another"
			if hopeful, _ := p.Pend(again); !hopeful {
				t.Error("there is something to match, and that is not said")
			}
			given, unmatched := p.Match()
			if len(given) != 1 || given[0].UID != "b" {
				t.Errorf("given: %v", given)
			}
			if _, err := newRequest(again); err == nil && (len(unmatched) != 1 || unmatched[0] != (types.NamespacedName{Namespace: "ns", Name: "a"})) {
				t.Errorf("told that there is nothing: %v", unmatched)
			}
		})
	}
}

// TestAClaimThatBecameHopefulIsToldAgain: it was asked when a server was free, and has not said anything.
func TestAClaimThatBecameHopefulIsToldAgain(t *testing.T) {
	young := asking("young", createdAt(1))
	p := poolOf(nil, asking("old", createdAt(0)), young)
	if _, unmatched := p.Match(); len(unmatched) != 2 {
		t.Fatalf("told: %v", unmatched)
	}
	p.Observe(available("s"))
	if hopeful, err := p.Pend(young); err != nil || !hopeful {
		t.Fatalf("a server is free: %t, %v", hopeful, err)
	}
	if given, unmatched := p.Match(); len(given) != 1 || len(unmatched) != 1 || unmatched[0].Name != "young" {
		t.Errorf("given %v, told %v", given, unmatched)
	}
	if hopeful, err := p.Pend(young); err != nil || hopeful {
		t.Errorf("nothing is free: %t, %v", hopeful, err)
	}
}
