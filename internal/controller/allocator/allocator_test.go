package allocator

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type serverOption func(*metalv1.Server)

// available is a Server that may be claimed.
func available(name string, options ...serverOption) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, ResourceVersion: "1"}}
	s.Status.State, s.Status.PowerState = metalv1.ServerStateAvailable, metalv1.PowerStateOff
	s.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionClaimable, Status: metav1.ConditionTrue}}
	for _, o := range options {
		o(s)
	}
	return s
}

// notOffYet is a Server whose machine is on, or going off.
func notOffYet(s *metalv1.Server) {
	s.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionClaimable, Status: metav1.ConditionFalse}}
}

// inDiscovery is a Server that is not Available yet.
func inDiscovery(s *metalv1.Server) {
	s.Status.State = metalv1.ServerStateDiscovery
	s.Status.Conditions = []metav1.Condition{{Type: metalv1.ConditionClaimable, Status: metav1.ConditionFalse}}
}

func labelled(pairs ...string) serverOption {
	return func(s *metalv1.Server) {
		for i := 0; i < len(pairs); i += 2 {
			s.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func tainted(key, value string, effect metalv1.TaintEffect) serverOption {
	return func(s *metalv1.Server) {
		s.Spec.Taints = append(s.Spec.Taints, metalv1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func version(v int) serverOption {
	return func(s *metalv1.Server) { s.ResourceVersion = fmt.Sprint(v) }
}

func claimed(uid string) serverOption {
	return func(s *metalv1.Server) {
		s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: uid}
		s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: uid}
	}
}

type claimOption func(*metalv1.ServerClaim)

// asking is a claim; its UID is its name.
func asking(name string, options ...claimOption) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start),
	}}
	for _, o := range options {
		o(c)
	}
	return c
}

func createdAt(seconds int) claimOption {
	return func(c *metalv1.ServerClaim) {
		c.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
	}
}

func forServer(name string) claimOption {
	return func(c *metalv1.ServerClaim) { c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: name} }
}

func selecting(pairs ...string) claimOption {
	return func(c *metalv1.ServerClaim) {
		if c.Spec.ServerSelector == nil {
			c.Spec.ServerSelector = &metav1.LabelSelector{}
		}
		c.Spec.ServerSelector.MatchLabels = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			c.Spec.ServerSelector.MatchLabels[pairs[i]] = pairs[i+1]
		}
	}
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) claimOption {
	return func(c *metalv1.ServerClaim) {
		if c.Spec.ServerSelector == nil {
			c.Spec.ServerSelector = &metav1.LabelSelector{}
		}
		c.Spec.ServerSelector.MatchExpressions = append(c.Spec.ServerSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values})
	}
}

func tolerating(key, value string, operator metalv1.TolerationOperator) claimOption {
	return func(c *metalv1.ServerClaim) {
		c.Spec.Tolerations = append(c.Spec.Tolerations, metalv1.Toleration{Key: key, Value: value, Operator: operator})
	}
}

// poolOf is a pool that knows servers, and claims that wait.
func poolOf(servers []*metalv1.Server, claims ...*metalv1.ServerClaim) *Pool {
	p := NewPool()
	for _, s := range servers {
		p.Observe(s)
	}
	for _, c := range claims {
		if _, err := p.Pend(c); err != nil {
			panic(err)
		}
	}
	return p
}

// matched is what Match gives, server by claim.
func matched(p *Pool) map[string]string {
	given, _ := p.Match()
	found := map[string]string{}
	for _, g := range given {
		found[g.Claim.Name] = g.Server
	}
	return found
}
