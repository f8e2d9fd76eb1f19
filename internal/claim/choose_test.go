package claim

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func free(name string, change ...func(*metalv1.Server)) metalv1.Server {
	s := metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"size": "m"}}}
	s.Status.State = metalv1.ServerStateAvailable
	s.Status.PowerState = metalv1.PowerStateOff
	for _, c := range change {
		c(&s)
	}
	return s
}

func wants(labels map[string]string, tolerations ...metalv1.Toleration) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{}
	if labels != nil {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	c.Spec.Tolerations = tolerations
	return c
}

func TestChoose(t *testing.T) {
	taint := func(effect metalv1.TaintEffect) func(*metalv1.Server) {
		return func(s *metalv1.Server) {
			s.Spec.Taints = []metalv1.Taint{{Key: "k", Value: "v", Effect: effect}}
		}
	}
	for name, tc := range map[string]struct {
		claim   *metalv1.ServerClaim
		servers []metalv1.Server
		want    string
		reason  string
	}{
		"none exists":      {wants(nil), nil, "", metalv1.ReasonNoMatchingServer},
		"any":              {wants(nil), []metalv1.Server{free("b"), free("a")}, "a", ""},
		"by label":         {wants(map[string]string{"size": "m"}), []metalv1.Server{free("a")}, "a", ""},
		"no label matches": {wants(map[string]string{"size": "l"}), []metalv1.Server{free("a")}, "", metalv1.ReasonNoMatchingServer},
		"not off yet": {wants(nil), []metalv1.Server{free("a", func(s *metalv1.Server) { s.Status.PowerState = metalv1.PowerStateOn })},
			"", metalv1.ReasonAllMatchingServersBusy},
		"not clean yet": {wants(nil), []metalv1.Server{free("a", func(s *metalv1.Server) {
			s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "x"}
		})}, "", metalv1.ReasonAllMatchingServersBusy},
		"unclaimable": {wants(nil), []metalv1.Server{free("a", func(s *metalv1.Server) { s.Spec.Unclaimable = true })}, "", ReasonServerNotAvailable},
		"taken": {wants(nil), []metalv1.Server{free("a", func(s *metalv1.Server) {
			s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "n", Name: "c"}
		})}, "", metalv1.ReasonAllMatchingServersBusy},
		"tainted":            {wants(nil), []metalv1.Server{free("a", taint(metalv1.TaintEffectNoBind))}, "", metalv1.ReasonTaintNotTolerated},
		"tainted by nobody":  {wants(nil), []metalv1.Server{free("a", taint(""))}, "", metalv1.ReasonTaintNotTolerated},
		"evict does nothing": {wants(nil), []metalv1.Server{free("a", taint(metalv1.TaintEffectEvict))}, "a", ""},
		"tolerated by value": {wants(nil, metalv1.Toleration{Key: "k", Value: "v"}), []metalv1.Server{free("a", taint(metalv1.TaintEffectNoBind))}, "a", ""},
		"other value": {wants(nil, metalv1.Toleration{Key: "k", Value: "w"}), []metalv1.Server{free("a", taint(metalv1.TaintEffectNoBind))},
			"", metalv1.ReasonTaintNotTolerated},
		"tolerated by key": {wants(nil, metalv1.Toleration{Key: "k", Operator: metalv1.TolerationOpExists}),
			[]metalv1.Server{free("a", taint(""))}, "a", ""},
		"the next one": {wants(nil), []metalv1.Server{free("a", taint("")), free("b")}, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, verdict := Choose(tc.claim, tc.servers)
			if verdict.Reason != tc.reason {
				t.Errorf("reason %q (%s), want %q", verdict.Reason, verdict.Message, tc.reason)
			}
			if (got == nil) != (tc.want == "") || got != nil && got.Name != tc.want {
				t.Errorf("chose %v, want %q", got, tc.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	c := wants(map[string]string{"size": "l"})
	c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "a"}
	if v := Named(c, nil); v.Reason != ReasonServerNotFound || !strings.Contains(v.Message, `"a"`) {
		t.Errorf("a missing server: %+v", v)
	}
	s := free("a")
	if v := Named(c, &s); v.Reason != ReasonSelectorMismatch {
		t.Errorf("contradiction of reference and selector: %+v", v)
	}
	c.Spec.ServerSelector = nil
	if v := Named(c, &s); v.Reason != "" {
		t.Errorf("a free server: %+v", v)
	}
	s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "n", Name: "c"}
	if v := Named(c, &s); !strings.Contains(v.Message, "n/c") {
		t.Errorf("a busy server does not say who has it: %+v", v)
	}
}

// TestChoiceDoesNotDependOnOrder: two managers with caches in different order choose the same.
func TestChoiceDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "servers")
		var servers []metalv1.Server
		for i := range n {
			busy, big := rapid.Bool().Draw(t, "busy"), rapid.Bool().Draw(t, "big")
			servers = append(servers, free(fmt.Sprintf("s%02d", i), func(s *metalv1.Server) {
				s.Spec.Unclaimable = busy
				if big {
					s.Labels["size"] = "l"
				}
			}))
		}
		shuffled := rapid.Permutation(servers).Draw(t, "order")
		c := wants(map[string]string{"size": "l"})
		a, v := Choose(c, servers)
		b, w := Choose(c, shuffled)
		if (a == nil) != (b == nil) || a != nil && a.Name != b.Name || v != w {
			t.Fatalf("%v %v and %v %v", a, v, b, w)
		}
		if a != nil && (a.Spec.Unclaimable || a.Labels["size"] != "l") {
			t.Fatalf("%s does not fit", a.Name)
		}
		for i := range servers {
			if a == nil && !servers[i].Spec.Unclaimable && servers[i].Labels["size"] == "l" {
				t.Fatalf("%s would fit and was not chosen", servers[i].Name)
			}
		}
	})
}
