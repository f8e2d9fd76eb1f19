package readiness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const key = "example.org/not-ready"

func newRule(name string, change ...func(*metalv1.ServerReadinessRule)) *metalv1.ServerReadinessRule {
	r := &metalv1.ServerReadinessRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.ServerSelector.MatchLabels = map[string]string{"rack": "1"}
	r.Spec.Conditions = []metalv1.ReadinessCondition{{Type: "Burned", RequiredStatus: metav1.ConditionTrue}}
	r.Spec.Taint = metalv1.Taint{Key: key}
	r.Spec.EnforcementMode = metalv1.ReadinessEnforcementModeContinuous
	for _, c := range change {
		c(r)
	}
	return r
}

func once(r *metalv1.ServerReadinessRule) {
	r.Spec.EnforcementMode = metalv1.ReadinessEnforcementModeBootstrapOnly
}

func newServer(change ...func(*metalv1.Server)) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"rack": "1"}}}
	for _, c := range change {
		c(s)
	}
	return s
}

func burned(status metav1.ConditionStatus) func(*metalv1.Server) {
	return func(s *metalv1.Server) {
		s.Status.Conditions = []metav1.Condition{{Type: "Burned", Status: status, Reason: "R", LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
	}
}

func tainted(s *metalv1.Server) {
	s.Spec.Taints = append(s.Spec.Taints, metalv1.Taint{Key: key, Effect: metalv1.TaintEffectNoBind})
}

func marked(s *metalv1.Server) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, metalv1.AnnotationReadinessTaints, key+"=NoBind")
}

func elsewhere(s *metalv1.Server) { s.Labels["rack"] = "2" }

func TestDecide(t *testing.T) {
	own := metalv1.Taint{Key: "example.org/own", Effect: metalv1.TaintEffectNoBind}
	for name, tc := range map[string]struct {
		server *metalv1.Server
		rules  []metalv1.ServerReadinessRule
		want   *metalv1.Server
	}{
		"not there yet":      {newServer(), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(tainted, marked)},
		"not true":           {newServer(burned("False")), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(burned("False"), tainted, marked)},
		"true":               {newServer(burned("True"), tainted, marked), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(burned("True"))},
		"true, put by hand":  {newServer(burned("True"), tainted), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(burned("True"))},
		"false, put by hand": {newServer(tainted), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(tainted)},
		"unknown is asked for": {newServer(), []metalv1.ServerReadinessRule{*newRule("r", func(r *metalv1.ServerReadinessRule) {
			r.Spec.Conditions[0].RequiredStatus = metav1.ConditionUnknown
		})}, newServer()},
		"others' taints stay": {
			newServer(func(s *metalv1.Server) { s.Spec.Taints = []metalv1.Taint{own} }, burned("True"), tainted),
			[]metalv1.ServerReadinessRule{*newRule("r")},
			newServer(func(s *metalv1.Server) { s.Spec.Taints = []metalv1.Taint{own} }, burned("True")),
		},
		"not selected":              {newServer(elsewhere, tainted), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(elsewhere, tainted)},
		"not selected any more":     {newServer(elsewhere, tainted, marked), []metalv1.ServerReadinessRule{*newRule("r")}, newServer(elsewhere)},
		"no rule any more":          {newServer(tainted, marked), nil, newServer()},
		"another rule wants it too": {newServer(burned("True"), tainted, marked), []metalv1.ServerReadinessRule{*newRule("r"), *newRule("q", func(r *metalv1.ServerReadinessRule) { r.Spec.Conditions[0].Type = "Other" })}, newServer(burned("True"), tainted, marked)},
		"at the beginning": {newServer(burned("True"), tainted, marked), []metalv1.ServerReadinessRule{*newRule("r", once)}, newServer(burned("True"), func(s *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, metalv1.AnnotationBootstrapCompletedPrefix+"r", "true")
		})},
		"after the beginning": {newServer(burned("False"), func(s *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, metalv1.AnnotationBootstrapCompletedPrefix+"r", "true")
		}), []metalv1.ServerReadinessRule{*newRule("r", once)}, newServer(burned("False"), func(s *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, metalv1.AnnotationBootstrapCompletedPrefix+"r", "true")
		})},
		"the mark of Cleanup is not for rules": {newServer(), []metalv1.ServerReadinessRule{*newRule("r", func(r *metalv1.ServerReadinessRule) { r.Spec.Taint.Key = metalv1.TaintNotClean })}, newServer()},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time changes nothing
				decide(tc.server, tc.rules)
				if len(tc.server.Annotations) == 0 {
					tc.server.Annotations = nil
				}
				if diff := cmp.Diff(tc.want, tc.server); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestARuleFromItsBeginningToItsEnd(t *testing.T) {
	api := controllertest.NewAPI(t, newServer(), newRule("r"))
	servers, rules := &Servers{Client: api}, &Rules{Client: api, Clock: api.Clock}
	settle := func() {
		t.Helper()
		api.Settle(t, rules, "r")
		api.Settle(t, servers, "s")
		api.Clock.Step(time.Minute)
		api.Settle(t, rules, "r")
	}
	taints := func() []metalv1.Taint { return controllertest.Read[metalv1.Server](t, api, "s").Spec.Taints }
	settle()
	if len(taints()) != 1 {
		t.Fatalf("taints %v", taints())
	}
	rule := controllertest.Read[metalv1.ServerReadinessRule](t, api, "r")
	controllertest.Says(t, rule.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, reasonEnforced, "1 of 1")
	controllertest.ChangeStatus(t, api, "s", func(s *metalv1.Server) { burned("True")(s) })
	settle()
	if len(taints()) != 0 {
		t.Errorf("taints %v", taints())
	}
	controllertest.ChangeStatus(t, api, "s", func(s *metalv1.Server) { burned("False")(s) })
	settle()
	api.Remove(t, rule)
	api.Settle(t, rules, "r")
	controllertest.Says(t, controllertest.Read[metalv1.ServerReadinessRule](t, api, "r").Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonEnding)
	api.Settle(t, servers, "s")
	api.Settle(t, rules, "r")
	if len(taints()) != 0 || !controllertest.Gone[metalv1.ServerReadinessRule](t, api, "r") {
		t.Errorf("taints %v, the rule is there still", taints())
	}
}

func TestARuleThatCannotBeEnforcedSaysSo(t *testing.T) {
	api := controllertest.NewAPI(t, newServer(), newRule("r", func(r *metalv1.ServerReadinessRule) { r.Spec.Taint.Key = metalv1.TaintNotClean }))
	api.Settle(t, &Rules{Client: api, Clock: api.Clock}, "r")
	rule := controllertest.Read[metalv1.ServerReadinessRule](t, api, "r")
	controllertest.Says(t, rule.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonInvalid, metalv1.TaintNotClean)
}
