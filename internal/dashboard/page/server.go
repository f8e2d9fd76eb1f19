package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/inquiry"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/place"
	"github.com/farrier-dev/farrier/internal/timeline"
)

// serverPage is all about one server.
type serverPage struct {
	Now      time.Time
	Server   *metalv1.Server
	State    string
	Zone     string
	Rack     string
	Unit     int
	Claim    string
	Activity overview.Activity
	Why      *diagnosis.Answer

	Main, Aside []step
	Steps       []bootHop
	Timeline    []timeline.Entry
	Older       int
	Wipes       []wipe
	NICs        []metalv1.NetworkInterface
	Hidden      int // interfaces that are not shown
	Conditions  []metav1.Condition
	Acts        acts
	Missing     []string
}

// step is a state in the life of a server.
type step struct {
	State   string
	Present bool
}

// bootHop is a step of the newest boot.
type bootHop struct {
	Name string
	At   time.Time
	Done bool
}

// wipe is the record of a cleanup.
type wipe struct {
	machinerecord.Cleanup
	Clean bool
}

// Bounds of what a page shows of one server.
const (
	mostEntries, mostWipes, mostNICs, mostConditions = 120, 10, 64, 64
)

// Server is all about one server. One that does not exist is ErrNotFound.
func Server(ctx context.Context, s Source, name string) (View, error) {
	server := &metalv1.Server{}
	if err := s.get(ctx, client.ObjectKey{Name: name}, server); err != nil {
		return View{}, err
	}
	where := place.Of(server)
	p := serverPage{
		Now: s.Now, Server: server, State: string(cmp.Or(server.Status.State, metalv1.ServerStateInitial)), Zone: where.Zone, Rack: where.Rack, Unit: where.Unit,
		Conditions: newest(server.Status.Conditions), NICs: server.Status.NetworkInterfaces,
	}
	if len(p.NICs) > mostNICs {
		p.NICs, p.Hidden = p.NICs[:mostNICs], len(p.NICs)-mostNICs
	}
	if ref := server.Spec.ServerClaimRef; ref != nil {
		p.Claim = ref.Namespace + "/" + ref.Name
	}
	facts, why, err := s.why(ctx, name)
	if err != nil {
		return View{}, err
	}
	if facts.Server != nil && facts.Server.Name == name {
		about := overview.Facts{Server: server, Claim: facts.Claim, BMC: facts.BMC, Boot: facts.Config}
		p.Why, p.Activity = why, about.Activity(s.Now)
		p.Steps = stepsOf(about)
	}
	p.Main, p.Aside = lifeOf(p.State)
	p.history(ctx, s)
	p.wipes(ctx, s)
	p.Acts = actsOf(server, facts.Claim)
	v := view(name, "servers", "server", p)
	v.Terminal = true
	return v, nil
}

// why is what `farrier why` says about a name.
func (s Source) why(ctx context.Context, name string) (*diagnosis.Facts, *diagnosis.Answer, error) {
	facts, err := inquiry.Source{API: s.Objects, Boots: s.boots, Unknown: s.unknown, Logbook: s.logbook, Manager: s.Manager, Namespace: metav1.NamespaceDefault}.Read(ctx, name)
	if err != nil {
		return nil, nil, fmt.Errorf("facts about %q: %w", name, err)
	}
	facts.Now = s.Now
	return facts, diagnosis.Explain(facts), nil
}

// lifeOf is the usual way of a server, and the states beside it, with the present one marked.
func lifeOf(present string) (main, aside []step) {
	const usual = 5 // the first of states
	for i, state := range states {
		one := step{string(state), string(state) == present}
		if i < usual {
			main = append(main, one)
		} else {
			aside = append(aside, one)
		}
	}
	return main, aside
}

// stepsOf is how far the newest boot has come; nil: there is none.
func stepsOf(f overview.Facts) []bootHop {
	attempt := attemptOf(f.Boot)
	if attempt == nil {
		return nil
	}
	steps := []bootHop{{Name: "ordered", At: *attempt.Ordered, Done: true}}
	on := bootHop{Name: "switched on"}
	if attempt.Started != nil {
		on.At, on.Done = *attempt.Started, true
	}
	steps = append(steps, on)
	for _, c := range []struct{ condition, name string }{
		{metalv1.ConditionIPXEScriptFetched, "script"}, {metalv1.ConditionIgnitionDataFetched, "ignition"}, {metalv1.ConditionBootStateReceived, "runs"},
	} {
		named := f.Boot.Status.DeliveryAttempt
		if c.condition == metalv1.ConditionBootStateReceived {
			named = f.Boot.Status.BootStateAttempt
		}
		if c.condition == metalv1.ConditionIgnitionDataFetched && f.Boot.Spec.IgnitionSecretRef == nil {
			continue
		}
		one := bootHop{Name: c.name}
		if found := conditionOf(f.Boot.Status.Conditions, c.condition); attempt.Concerns(named, found) {
			one.At, one.Done = found.LastTransitionTime.Time, true
		}
		steps = append(steps, one)
	}
	return steps
}

// history is the timeline, the newest first.
func (p *serverPage) history(ctx context.Context, s Source) {
	uuid, _ := operator.UUID(p.Server.Spec.SystemUUID)
	boots := func(ctx context.Context, uuid string) (operator.Boots, error) {
		read, err := s.boots(ctx, uuid)
		if err != nil { // the rest is worth showing without it
			p.Missing = append(p.Missing, fmt.Sprintf("the requests of the machine: %v", err))
		}
		return read, nil
	}
	t, err := timeline.Source{API: s.Objects, Boots: boots, Logbook: s.logbook, Namespace: s.Manager}.Read(ctx, p.Server, uuid)
	if err != nil {
		p.Missing = append(p.Missing, fmt.Sprintf("the timeline: %v", err))
		return
	}
	slices.Reverse(t.Entries)
	p.Timeline = t.Entries[:min(len(t.Entries), mostEntries)]
	p.Older = len(t.Entries) - len(p.Timeline)
	p.Missing = append(p.Missing, t.Missing...)
}

// wipes are the records of cleanups, the newest first.
func (p *serverPage) wipes(ctx context.Context, s Source) {
	var list corev1.ConfigMapList
	if err := s.Objects.List(ctx, &list, client.InNamespace(s.Manager), client.MatchingLabels(machinerecord.Selector(p.Server.Name))); err != nil {
		p.Missing = append(p.Missing, fmt.Sprintf("records of cleanups: %v", err))
		return
	}
	for i := range list.Items {
		obj := &list.Items[i]
		if machinerecord.CleanupMetaOf(obj).Outcome == "" || machinerecord.ServerOf(obj) != p.Server.Name {
			continue
		}
		record, err := machinerecord.ReadCleanup(obj)
		if err != nil {
			p.Missing = append(p.Missing, fmt.Sprintf("a record of a cleanup: %v", err))
			continue
		}
		p.Wipes = append(p.Wipes, wipe{record, record.Outcome == machinerecord.Clean})
	}
	slices.SortFunc(p.Wipes, func(a, b wipe) int { return b.Ended.Compare(a.Ended) })
	p.Wipes = p.Wipes[:min(len(p.Wipes), mostWipes)]
}

// Took is how long a cleanup took.
func (w wipe) Took() string { return diagnosis.Duration(max(w.Ended.Sub(w.Started), 0)).String() }

// Fine reports whether a disk needs no person.
func (w wipe) Fine(d inspection.DiskCleanup) bool {
	return d.Result == inspection.CleanedOK || d.Result == inspection.CleanedExempt
}

// Drives counts them.
func (p serverPage) Drives() (n int) {
	for i := range p.Server.Status.Storages {
		n += len(p.Server.Status.Storages[i].Drives)
	}
	return n
}
