package claim

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Reasons of a claim's Bound condition beside those that the API names.
const (
	ReasonServerNotFound     = "ServerNotFound"
	ReasonServerNotAvailable = "ServerNotAvailable"
	ReasonSelectorInvalid    = "SelectorInvalid"
	ReasonSelectorMismatch   = "SelectorMismatch"
)

// Verdict is why a claim cannot be bound now; the zero value: it can.
type Verdict struct{ Reason, Message string }

// Choose picks the server of a claim among candidates, which are looked at in
// the order of their names. It returns nil and a verdict when none fits.
func Choose(claim *metalv1.ServerClaim, candidates []metalv1.Server) (*metalv1.Server, Verdict) {
	selector, err := Selector(claim)
	if err != nil {
		return nil, Verdict{ReasonSelectorInvalid, "spec.serverSelector: " + err.Error()}
	}
	sort.Slice(candidates, func(i, j int) bool { return candidates[i].Name < candidates[j].Name })
	rejected := map[string]int{}
	for i := range candidates {
		s := &candidates[i]
		if !selector.Matches(labels.Set(s.Labels)) {
			rejected[metalv1.ReasonNoMatchingServer]++
			continue
		}
		if v := Fits(claim, s); v.Reason != "" {
			rejected[v.Reason]++
			continue
		}
		return s, Verdict{}
	}
	return nil, summary(rejected)
}

// Selector is the claim's selector; none selects everything.
func Selector(claim *metalv1.ServerClaim) (labels.Selector, error) {
	if claim.Spec.ServerSelector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(claim.Spec.ServerSelector)
}

// Named judges the one server that a claim names. server is nil when it does not exist.
func Named(claim *metalv1.ServerClaim, server *metalv1.Server) Verdict {
	name := claim.Spec.ServerRef.Name
	if server == nil {
		return Verdict{ReasonServerNotFound, fmt.Sprintf("spec.serverRef: Server %q does not exist", name)}
	}
	selector, err := Selector(claim)
	if err != nil {
		return Verdict{ReasonSelectorInvalid, "spec.serverSelector: " + err.Error()}
	}
	if !selector.Matches(labels.Set(server.Labels)) {
		return Verdict{ReasonSelectorMismatch, fmt.Sprintf("spec.serverSelector does not match Server %q that spec.serverRef names", name)}
	}
	v := Fits(claim, server)
	if v.Reason != "" {
		v.Message = fmt.Sprintf("Server %q: %s", name, v.Message)
	}
	return v
}

// Fits judges whether a server that matches may be given away, and to this claim.
func Fits(claim *metalv1.ServerClaim, s *metalv1.Server) Verdict {
	switch {
	case !s.DeletionTimestamp.IsZero():
		return Verdict{ReasonServerNotAvailable, "is being deleted"}
	case s.Spec.ServerClaimRef != nil:
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "belongs to claim " + s.Spec.ServerClaimRef.Namespace + "/" + s.Spec.ServerClaimRef.Name}
	case s.Spec.Unclaimable:
		return Verdict{ReasonServerNotAvailable, "is unclaimable"}
	case s.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue, s.Annotations[metalv1.AnnotationOperation] == metalv1.OperationPark:
		return Verdict{ReasonServerNotAvailable, "is parked, or about to be"}
	case s.Annotations[metalv1.AnnotationClaimedBy] != "":
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "has to be cleaned first"}
	case s.Spec.ServerMaintenanceRef != nil:
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "is in maintenance"}
	case s.Status.State != metalv1.ServerStateAvailable:
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "is in state " + string(s.Status.State)}
	case s.Status.PowerState != metalv1.PowerStateOff:
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "is not off yet"}
	case s.Spec.BootConfigurationRef != nil:
		return Verdict{metalv1.ReasonAllMatchingServersBusy, "still has a boot configuration"}
	}
	for _, t := range s.Spec.Taints {
		if t.Effect != metalv1.TaintEffectEvict && !slices.ContainsFunc(claim.Spec.Tolerations, func(o metalv1.Toleration) bool { return o.Tolerates(t) }) {
			return Verdict{metalv1.ReasonTaintNotTolerated, "has the taint " + t.Key}
		}
	}
	return Verdict{}
}

// summary names the reason that holds for the servers nearest to fitting, and counts all.
func summary(rejected map[string]int) Verdict {
	order := []string{
		metalv1.ReasonTaintNotTolerated, metalv1.ReasonAllMatchingServersBusy, ReasonServerNotAvailable, metalv1.ReasonNoMatchingServer,
	}
	var reason string
	var counts []string
	for _, r := range order {
		if n := rejected[r]; n > 0 {
			if reason == "" {
				reason = r
			}
			counts = append(counts, fmt.Sprintf("%s: %d", r, n))
		}
	}
	if reason == "" {
		return Verdict{metalv1.ReasonNoMatchingServer, "No Server matches"}
	}
	return Verdict{reason, "No Server can be bound (" + strings.Join(counts, ", ") + ")"}
}
