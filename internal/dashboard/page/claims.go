package page

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/overview"
)

const pathClaims = "/dashboard/claims"

// claimsPage is the list of claims, those that wait first.
type claimsPage struct {
	Now    time.Time
	Search string
	Rows   []claimRow
	Pager  pager
	// Server is what the form to claim names already.
	Server string
}

type claimRow struct {
	Namespace, Name, Server, Image, Power string
	Bound, Deleted                        bool
	// Why says why it has no server, or what is wrong if Wrong is set.
	Why   string
	Wrong bool
	Since time.Time

	claim *metalv1.ServerClaim
}

// Claims lists claims. Its query narrows the list: q, page; server=NAME fills in the form.
func Claims(ctx context.Context, s Source, query url.Values) (View, error) {
	query = known(query, "q", "page", "server")
	var all metalv1.ServerClaimList
	if err := s.Objects.List(ctx, &all); err != nil {
		return View{}, err
	}
	p := claimsPage{Now: s.Now, Search: query.Get("q"), Server: query.Get("server")}
	var rows []claimRow
	for i := range all.Items {
		row := claimRowOf(&all.Items[i])
		if text := strings.ToLower(p.Search); text == "" || strings.Contains(strings.ToLower(row.Namespace+"/"+row.Name+" "+row.Server+" "+row.Image), text) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b claimRow) int {
		return cmp.Or(boolean(a.Bound, b.Bound), cmp.Compare(a.Namespace, b.Namespace), natural(a.Name, b.Name))
	})
	p.Rows, p.Pager = cut(rows, mostRows, pathClaims, query)
	for i := range p.Rows { // a diagnosis of those alone that are shown
		p.Rows[i].explain(ctx, s)
	}
	return view("Claims", "claims", "claims", p), nil
}

func claimRowOf(c *metalv1.ServerClaim) claimRow {
	row := claimRow{
		Namespace: c.Namespace, Name: c.Name, Image: c.Spec.Image, Power: string(c.Spec.Power), Bound: c.Status.Phase == metalv1.ServerClaimPhaseBound,
		Deleted: c.DeletionTimestamp != nil, Since: c.CreationTimestamp.Time, claim: c,
	}
	if ref := c.Spec.ServerRef; ref != nil {
		row.Server = ref.Name
	}
	if bound := conditionOf(c.Status.Conditions, metalv1.ConditionBound); bound != nil {
		row.Since = bound.LastTransitionTime.Time
	}
	return row
}

// explain has the diagnosis say why a claim has no server, or what is wrong with the one that it has, as the page of the claim does.
func (r *claimRow) explain(ctx context.Context, s Source) {
	facts := &diagnosis.Facts{Now: s.Now, Asked: r.Namespace + "/" + r.Name, Claim: r.claim}
	if !r.Bound {
		r.Why = diagnosis.Explain(facts).Cause
		return
	}
	if server := (&metalv1.Server{}); s.get(ctx, client.ObjectKey{Name: r.Server}, server) == nil {
		facts.Server = server
		if ref, bmc := server.Spec.BMCRef, (&metalv1.BMC{}); ref != nil && s.get(ctx, client.ObjectKey{Name: ref.Name}, bmc) == nil {
			facts.BMC = bmc
		}
		if ref, config := server.Spec.BootConfigurationRef, (&metalv1.ServerBootConfiguration{}); ref != nil && s.get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, config) == nil {
			facts.Config = config
		}
	}
	if wrong := diagnosis.Wrong(facts); wrong != nil {
		r.Wrong, r.Why = true, wrong.Cause
	}
}

// claimPage is all about one claim.
type claimPage struct {
	Now        time.Time
	Claim      *metalv1.ServerClaim
	Selector   string
	Server     *metalv1.Server
	Activity   overview.Activity
	Why        *diagnosis.Answer
	Conditions []metav1.Condition
}

// Claim is all about one claim. One that does not exist is ErrNotFound.
func Claim(ctx context.Context, s Source, namespace, name string) (View, error) {
	claim := &metalv1.ServerClaim{}
	if err := s.get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); err != nil {
		return View{}, err
	}
	p := claimPage{Now: s.Now, Claim: claim, Conditions: newest(claim.Status.Conditions)}
	if claim.Spec.ServerSelector != nil {
		p.Selector = metav1.FormatLabelSelector(claim.Spec.ServerSelector)
	}
	facts, why, err := s.why(ctx, namespace+"/"+name)
	if err != nil {
		return View{}, err
	}
	p.Why, p.Server = why, facts.Server
	if p.Server != nil {
		p.Activity = overview.Facts{Server: p.Server, Claim: claim, BMC: facts.BMC, Boot: facts.Config}.Activity(s.Now)
	}
	return view(namespace+"/"+name, "claims", "claim", p), nil
}
