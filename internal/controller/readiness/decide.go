package readiness

import (
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// identity is what tells taints apart: one key may be there with each effect.
func identity(t metalv1.Taint) string {
	effect := t.Effect
	if effect == "" {
		effect = metalv1.TaintEffectNoBind
	}
	return t.Key + "=" + string(effect)
}

// usable says why a rule cannot be enforced; empty: it can.
func usable(rule *metalv1.ServerReadinessRule) string {
	if rule.Spec.Taint.Key == metalv1.TaintNotClean {
		return "spec.taint.key: " + metalv1.TaintNotClean + " is the taint of servers whose cleanup failed; rules must not set it"
	}
	if _, err := metav1.LabelSelectorAsSelector(&rule.Spec.ServerSelector); err != nil {
		return "spec.serverSelector: " + err.Error()
	}
	return ""
}

// selects reports whether a rule that is in force is about a server.
func selects(rule *metalv1.ServerReadinessRule, server *metalv1.Server) bool {
	if !rule.DeletionTimestamp.IsZero() || usable(rule) != "" {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&rule.Spec.ServerSelector)
	return err == nil && selector.Matches(labels.Set(server.Labels))
}

// fulfilled reports whether a server has all the conditions of a rule. A condition that it does not have is
// Unknown.
func fulfilled(rule *metalv1.ServerReadinessRule, server *metalv1.Server) bool {
	for _, c := range rule.Spec.Conditions {
		status := metav1.ConditionUnknown
		if found := apimeta.FindStatusCondition(server.Status.Conditions, c.Type); found != nil {
			status = found.Status
		}
		if status != c.RequiredStatus {
			return false
		}
	}
	return true
}

// completed is the annotation that says that a rule for the beginning was fulfilled once.
func completed(rule *metalv1.ServerReadinessRule) string {
	return metalv1.AnnotationBootstrapCompletedPrefix + rule.Name
}

// wants reports whether a rule wants its taint on a server that it selects.
func wants(rule *metalv1.ServerReadinessRule, server *metalv1.Server) bool {
	if rule.Spec.EnforcementMode == metalv1.ReadinessEnforcementModeBootstrapOnly {
		if _, done := server.Annotations[completed(rule)]; done {
			return false
		}
	}
	return !fulfilled(rule, server)
}

// decide changes taints and annotations of a server to what the rules want. All rules are handed in: one taint
// may be that of several, and stays while one of them wants it.
func decide(server *metalv1.Server, rules []metalv1.ServerReadinessRule) {
	wanted, owned := map[string]metalv1.Taint{}, map[string]bool{}
	for _, id := range strings.Split(server.Annotations[metalv1.AnnotationReadinessTaints], ",") {
		owned[id] = id != ""
	}
	placed := map[string]bool{}
	for id, was := range owned {
		placed[id] = was
	}
	known := map[string]bool{}
	for i := range rules {
		rule := &rules[i]
		known[completed(rule)] = rule.DeletionTimestamp.IsZero()
		if !selects(rule, server) {
			continue
		}
		id := identity(rule.Spec.Taint)
		owned[id] = true
		if wants(rule, server) {
			wanted[id] = rule.Spec.Taint
		} else if rule.Spec.EnforcementMode == metalv1.ReadinessEnforcementModeBootstrapOnly {
			metav1.SetMetaDataAnnotation(&server.ObjectMeta, completed(rule), metalv1.AnnotationTrue)
		}
	}
	for key := range server.Annotations {
		// A rule made anew under an old name is a new rule.
		if strings.HasPrefix(key, metalv1.AnnotationBootstrapCompletedPrefix) && !known[key] {
			delete(server.Annotations, key)
		}
	}
	replace(server, wanted, owned, placed)
}

// replace puts the wanted taints on a server, takes those away that rules own and none wants, and remembers
// which of those that are there were put there by rules.
func replace(server *metalv1.Server, wanted map[string]metalv1.Taint, owned, placed map[string]bool) {
	present := map[string]bool{}
	server.Spec.Taints = slices.DeleteFunc(slices.Clone(server.Spec.Taints), func(t metalv1.Taint) bool {
		id := identity(t)
		_, stays := wanted[id]
		present[id] = stays
		return owned[id] && !stays
	})
	var mark []string
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		taint := wanted[id]
		if !present[id] {
			if taint.Effect == "" {
				taint.Effect = metalv1.TaintEffectNoBind
			}
			server.Spec.Taints = append(server.Spec.Taints, taint)
			placed[id] = true
		}
		if placed[id] {
			mark = append(mark, id)
		}
	}
	if len(server.Spec.Taints) == 0 {
		server.Spec.Taints = nil
	}
	if len(mark) == 0 {
		delete(server.Annotations, metalv1.AnnotationReadinessTaints)
		return
	}
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationReadinessTaints, strings.Join(mark, ","))
}
