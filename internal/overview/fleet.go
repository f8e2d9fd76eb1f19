package overview

import (
	"cmp"
	"maps"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/endpoint"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/place"
)

// Fleet is what `farrier status` shows, and what it prints as JSON.
type Fleet struct {
	// Time is when the objects were read.
	Time time.Time `json:"time"`
	// States counts the servers by state, and Trouble says what is wrong with some of them.
	States  map[string]int `json:"states"`
	Trouble []Cause        `json:"trouble"`
	// Servers are those that were asked for: those in trouble first, then those at work, then those that are claimed.
	Servers []Server `json:"servers"`
	BMCs    BMCs     `json:"bmcs"`
	Claims  Claims   `json:"claims"`
	// Unknown are machines that asked for a boot and got nothing; nil: nobody asked, because of a filter or of Missing.
	Unknown []operator.UnknownMachine `json:"unknownMachines"`
	// Missing names what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
	// Everyone is how many servers there are, with those that the filter leaves out.
	Everyone int `json:"-"`
}

// Server is one server of a Fleet.
type Server struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Power string `json:"power,omitempty"`
	// Claim is namespace/name of the claim that has the server.
	Claim string `json:"claim,omitempty"`
	// Doing is what it does, or what is wrong with it if Trouble is set, with the Reason of that. Since is when that began.
	Doing   string     `json:"doing,omitempty"`
	Trouble bool       `json:"trouble,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Since   *time.Time `json:"since,omitempty"`

	BMC   string `json:"bmc,omitempty"`
	Site  string `json:"site,omitempty"`
	Rack  string `json:"rack,omitempty"`
	Model string `json:"model,omitempty"`
	UUID  string `json:"systemUUID,omitempty"`
}

// BMCs counts BMCs. Those that have not been heard of yet neither answer nor fail.
type BMCs struct {
	Total   int     `json:"total"`
	Answer  int     `json:"answer"`
	Failing []Cause `json:"failing"`
}

// Claims counts claims.
type Claims struct {
	Total   int     `json:"total"`
	Waiting []Cause `json:"waiting"`
}

// Cause is why something fails or waits, with the names of what it concerns.
type Cause struct {
	Reason string `json:"reason"`
	// Message is the sentence about the first, and Next what to do about it.
	Message string   `json:"message,omitempty"`
	Next    string   `json:"next,omitempty"`
	Names   []string `json:"names"`
}

// Filter chooses servers. The zero value chooses all.
type Filter struct {
	// Labels chooses Servers and BMCs; nil: all.
	Labels labels.Selector
	Rack   string
	// States are the states of which servers are listed; empty: of all.
	States []string
}

// All reports whether the filter leaves nothing out.
func (f Filter) All() bool { return f.all() && len(f.States) == 0 }

// all reports whether the filter leaves nothing out but states.
func (f Filter) all() bool { return (f.Labels == nil || f.Labels.Empty()) && f.Rack == "" }

// takes reports whether the filter chooses an object.
func (f Filter) takes(obj metav1.Object) bool {
	return (f.Labels == nil || f.Labels.Matches(labels.Set(obj.GetLabels()))) && (f.Rack == "" || place.Of(obj).Rack == f.Rack)
}

// Objects are what a Fleet is made of.
type Objects struct {
	Servers   []metalv1.Server
	Claims    []metalv1.ServerClaim
	Boots     []metalv1.ServerBootConfiguration
	BMCs      []metalv1.BMC
	Endpoints []metalv1.Endpoint
}

// key names an object of a namespace.
type key struct{ namespace, name string }

// Of makes a Fleet of objects.
func Of(o *Objects, filter Filter, now time.Time) *Fleet {
	f := &Fleet{Time: now.UTC().Truncate(time.Second), States: map[string]int{}, Servers: make([]Server, 0, len(o.Servers)), Everyone: len(o.Servers)}
	claims := make(map[key]*metalv1.ServerClaim, len(o.Claims))
	for i := range o.Claims {
		claims[key{o.Claims[i].Namespace, o.Claims[i].Name}] = &o.Claims[i]
	}
	bmcsByName := make(map[string]*metalv1.BMC, len(o.BMCs))
	for i := range o.BMCs {
		bmcsByName[o.BMCs[i].Name] = &o.BMCs[i]
	}
	boots := make(map[key]*metalv1.ServerBootConfiguration, len(o.Boots))
	for i := range o.Boots {
		boots[key{o.Boots[i].Namespace, o.Boots[i].Name}] = &o.Boots[i]
	}
	troubles := causes{}
	for i := range o.Servers {
		server := &o.Servers[i]
		if !filter.takes(server) {
			continue
		}
		facts := Facts{Server: server}
		if ref := server.Spec.ServerClaimRef; ref != nil {
			facts.Claim = claims[key{ref.Namespace, ref.Name}]
		}
		if ref := server.Spec.BMCRef; ref != nil {
			facts.BMC = bmcsByName[ref.Name]
		}
		if ref := cmp.Or(server.Spec.MaintenanceBootConfigurationRef, server.Spec.BootConfigurationRef); ref != nil {
			facts.Boot = boots[key{ref.Namespace, ref.Name}]
		}
		activity := facts.Activity(now)
		row := rowOf(server, activity)
		if len(filter.States) > 0 && !slices.Contains(filter.States, row.State) {
			continue
		}
		f.States[row.State]++
		if row.Trouble {
			troubles.add(activity.Trouble, row.Name)
		}
		f.Servers = append(f.Servers, row)
	}
	f.sort()
	f.Trouble, f.BMCs = troubles.sorted(), bmcs(o, filter, now)
	f.Claims = waiting(o, filter, now)
	return f
}

func rowOf(s *metalv1.Server, activity Activity) Server {
	row := Server{
		Name: s.Name, State: string(cmp.Or(s.Status.State, metalv1.ServerStateInitial)), Power: string(s.Status.PowerState), Doing: activity.Doing,
		Trouble: activity.Trouble != nil, Site: s.Labels[metalv1.LabelSite], Rack: place.Of(s).Rack, Model: s.Status.Model, UUID: s.Spec.SystemUUID,
	}
	if row.Trouble {
		row.Reason = activity.Trouble.Reason
	}
	if !activity.Since.IsZero() {
		row.Since = &activity.Since
	}
	if ref := s.Spec.ServerClaimRef; ref != nil {
		row.Claim = ref.Namespace + "/" + ref.Name
	}
	if ref := s.Spec.BMCRef; ref != nil {
		row.BMC = ref.Name
	}
	return row
}

// sort brings servers into the order in which they are shown. It moves each once: a row is large.
func (f *Fleet) sort() {
	type place struct {
		rank, at int
		name     string
	}
	order := make([]place, len(f.Servers))
	for i := range f.Servers {
		order[i] = place{f.Servers[i].rank(), i, f.Servers[i].Name}
	}
	slices.SortFunc(order, func(a, b place) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name)) })
	sorted := make([]Server, len(order))
	for i, p := range order {
		sorted[i] = f.Servers[p.at]
	}
	f.Servers = sorted
}

// rank is the order in which servers are shown.
func (s *Server) rank() int {
	switch {
	case s.Trouble:
		return 0
	case s.State != string(metalv1.ServerStateAvailable) && s.State != string(metalv1.ServerStateReserved) && s.State != string(metalv1.ServerStateParked):
		return 1
	case s.Claim != "":
		return 2
	}
	return 3
}

// bmcs counts BMCs, and Endpoints of which no BMC comes.
func bmcs(o *Objects, filter Filter, now time.Time) BMCs {
	counted, causes := BMCs{}, causes{}
	for i := range o.BMCs {
		b := &o.BMCs[i]
		if !filter.takes(b) {
			continue
		}
		counted.Total++
		switch conditions := b.Status.Conditions; {
		case apimeta.IsStatusConditionFalse(conditions, metalv1.ConditionReady), apimeta.IsStatusConditionFalse(conditions, metalv1.ConditionIdentity):
			causes.add(diagnosis.Explain(&diagnosis.Facts{Now: now, BMC: b}), b.Name)
		case apimeta.IsStatusConditionTrue(conditions, metalv1.ConditionReady):
			counted.Answer++
		}
	}
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		c := apimeta.FindStatusCondition(e.Status.Conditions, endpoint.ConditionRecognised)
		if filter.takes(e) && c != nil && c.Status == metav1.ConditionFalse {
			causes.add(&diagnosis.Answer{Reason: c.Reason, Cause: c.Message}, "endpoint/"+e.Name)
		}
	}
	counted.Failing = causes.sorted()
	return counted
}

// waiting counts claims, and says why some of them have no server. Claims have no labels of servers: a filter leaves them out.
func waiting(o *Objects, filter Filter, now time.Time) Claims {
	counted, causes := Claims{}, causes{}
	for i := range o.Claims {
		if !filter.all() {
			break
		}
		claim := &o.Claims[i]
		counted.Total++
		if apimeta.IsStatusConditionFalse(claim.Status.Conditions, metalv1.ConditionBound) {
			causes.add(diagnosis.Explain(&diagnosis.Facts{Now: now, Claim: claim}), claim.Namespace+"/"+claim.Name)
		}
	}
	counted.Waiting = causes.sorted()
	return counted
}

// causes are those of several objects, by reason.
type causes map[string]*Cause

func (c causes) add(why *diagnosis.Answer, name string) {
	if c[why.Reason] == nil {
		c[why.Reason] = &Cause{Reason: why.Reason, Message: why.Cause, Next: why.Next}
	}
	c[why.Reason].Names = append(c[why.Reason].Names, name)
}

// sorted are the causes, the most frequent first.
func (c causes) sorted() []Cause {
	all := make([]Cause, 0, len(c))
	for _, reason := range slices.Sorted(maps.Keys(c)) {
		all = append(all, *c[reason])
	}
	slices.SortStableFunc(all, func(a, b Cause) int { return cmp.Compare(len(b.Names), len(a.Names)) })
	return all
}
