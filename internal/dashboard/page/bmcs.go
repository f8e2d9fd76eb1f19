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
)

const pathBMCs = "/dashboard/bmcs"

// bmcsPage is the list of BMCs, those that fail first.
type bmcsPage struct {
	Now    time.Time
	Search string
	Wrong  bool
	Rows   []bmcRow
	Pager  pager
}

type bmcRow struct {
	BMC     *metalv1.BMC
	Address string
	// Standing is "answers", "fails" or "not heard of".
	Standing string
	Why      string
	Servers  []string
}

// bmcStandings are in the order in which they are listed.
const (
	bmcFails    = "fails"
	bmcUnheard  = "not heard of"
	bmcAnswers  = "answers"
	mostServers = 4
)

// BMCs lists BMCs. Its query narrows the list: q, wrong, page.
func BMCs(ctx context.Context, s Source, query url.Values) (View, error) {
	query = known(query, "q", "wrong", "page")
	var all metalv1.BMCList
	if err := s.Objects.List(ctx, &all); err != nil {
		return View{}, err
	}
	var servers metalv1.ServerList
	if err := s.Objects.List(ctx, &servers); err != nil {
		return View{}, err
	}
	of := map[string][]string{}
	for i := range servers.Items {
		if ref := servers.Items[i].Spec.BMCRef; ref != nil {
			of[ref.Name] = append(of[ref.Name], servers.Items[i].Name)
		}
	}
	p := bmcsPage{Now: s.Now, Search: query.Get("q"), Wrong: query.Get("wrong") != ""}
	var rows []bmcRow
	for i := range all.Items {
		row := bmcRowOf(&all.Items[i], of[all.Items[i].Name])
		if row.has(p.Search) && (!p.Wrong || row.Standing == bmcFails) {
			rows = append(rows, row)
		}
	}
	order := []string{bmcFails, bmcUnheard, bmcAnswers}
	slices.SortStableFunc(rows, func(a, b bmcRow) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Standing), slices.Index(order, b.Standing)), natural(a.BMC.Name, b.BMC.Name))
	})
	p.Rows, p.Pager = cut(rows, mostRows, pathBMCs, query)
	for i := range p.Rows {
		if row := &p.Rows[i]; row.Standing == bmcFails {
			row.Why = diagnosis.Explain(&diagnosis.Facts{Now: s.Now, Asked: row.BMC.Name, BMC: row.BMC}).Cause
		}
	}
	return view("BMCs", "bmcs", "bmcs", p), nil
}

func bmcRowOf(b *metalv1.BMC, servers []string) bmcRow {
	row := bmcRow{BMC: b, Servers: servers, Standing: bmcUnheard, Address: b.Status.IP}
	if access := b.Spec.Access; row.Address == "" && access != nil {
		row.Address = access.IP
	}
	ready, identity := conditionOf(b.Status.Conditions, metalv1.ConditionReady), conditionOf(b.Status.Conditions, metalv1.ConditionIdentity)
	switch {
	case ready != nil && ready.Status == metav1.ConditionFalse, identity != nil && identity.Status == metav1.ConditionFalse:
		row.Standing = bmcFails
	case ready != nil && ready.Status == metav1.ConditionTrue:
		row.Standing = bmcAnswers
	}
	return row
}

func (r bmcRow) has(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	status := &r.BMC.Status
	return text == "" || slices.ContainsFunc([]string{r.BMC.Name, r.Address, status.MACAddress, status.Manufacturer, status.Model, status.SerialNumber, status.FirmwareVersion},
		func(value string) bool { return strings.Contains(strings.ToLower(value), text) })
}

// Shown are the first of its servers, and MoreServers how many others there are.
func (r bmcRow) Shown() []string  { return r.Servers[:min(len(r.Servers), mostServers)] }
func (r bmcRow) MoreServers() int { return max(len(r.Servers)-mostServers, 0) }

// bmcPage is all about one BMC.
type bmcPage struct {
	Now        time.Time
	Row        bmcRow
	Why        *diagnosis.Answer
	Conditions []metav1.Condition
}

// BMC is all about one BMC. One that does not exist is ErrNotFound.
func BMC(ctx context.Context, s Source, name string) (View, error) {
	b := &metalv1.BMC{}
	if err := s.get(ctx, client.ObjectKey{Name: name}, b); err != nil {
		return View{}, err
	}
	var servers metalv1.ServerList
	if err := s.Objects.List(ctx, &servers); err != nil {
		return View{}, err
	}
	var own []string
	for i := range servers.Items {
		if ref := servers.Items[i].Spec.BMCRef; ref != nil && ref.Name == name {
			own = append(own, servers.Items[i].Name)
		}
	}
	slices.SortFunc(own, natural)
	p := bmcPage{Now: s.Now, Row: bmcRowOf(b, own), Conditions: newest(b.Status.Conditions)}
	p.Why = diagnosis.Explain(&diagnosis.Facts{Now: s.Now, Asked: name, BMC: b})
	return view(name, "bmcs", "bmc", p), nil
}
