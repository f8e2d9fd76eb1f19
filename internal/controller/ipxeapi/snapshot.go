package ipxeapi

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// Finding is what keeps an object from being served, or is worth knowing of it: what the
// controllers would write into its status.
type Finding struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Broken objects are not served.
	Broken  bool   `json:"broken"`
	Message string `json:"message"`
}

// Snapshot compiles all Profiles and Assignments that a reader has, once, by the rules of the
// controllers, for whoever wants to know what machines would be given. Webhooks are not asked:
// content of theirs is missing. Nothing is written.
func Snapshot(ctx context.Context, from client.Reader, key []byte) (*profile.View, []Finding, error) {
	v := profile.NewView(clock.RealClock{}, nil)
	var profiles ipxev1.ProfileList
	if err := from.List(ctx, &profiles); err != nil {
		return nil, nil, fmt.Errorf("list Profiles: %w", err)
	}
	findings := snapshotProfiles(ctx, from, profiles.Items, key, v)
	more, err := snapshotAssignments(ctx, from, profiles.Items, v)
	if err != nil {
		return nil, nil, err
	}
	v.SetSynced(true)
	return v, append(findings, more...), nil
}

func snapshotProfiles(ctx context.Context, from client.Reader, all []ipxev1.Profile, key []byte, v *profile.View) []Finding {
	var findings []Finding
	r := &Profiles{APIReader: from, Webhooks: unasked{}, Key: key}
	for i := range all {
		p := &all[i]
		say := func(broken bool, messages ...string) {
			for _, m := range messages {
				findings = append(findings, Finding{kindProfile, p.Namespace, p.Name, broken, m})
			}
		}
		if p.UID == "" { // a manifest: IDs of configs still differ between profiles
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
		g, err := r.gather(ctx, p)
		if err != nil {
			say(true, err.Error())
			continue
		}
		compiled, problem := profile.Compile(g.source, key)
		if problem != nil {
			say(true, "spec.ipxe: "+problem.Error())
		} else {
			v.PutProfile(compiled)
		}
		say(true, g.missing...)
		say(true, g.invalid...)
		say(false, g.warned...)
	}
	return findings
}

func snapshotAssignments(ctx context.Context, from client.Reader, profiles []ipxev1.Profile, v *profile.View) ([]Finding, error) {
	var all ipxev1.AssignmentList
	if err := from.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Assignments: %w", err)
	}
	var findings []Finding
	r := &Assignments{Client: newListed(profiles), View: v}
	for i := range all.Items {
		a := &all.Items[i]
		found, err := r.profileOf(ctx, a)
		if err != nil {
			return nil, err
		}
		compiled := compiledFrom(a, found)
		if key, impossible := compiled.Selector.Impossible(); impossible {
			findings = append(findings, Finding{kindAssignment, a.Namespace, a.Name, true, fmt.Sprintf("label %q has no value that a machine could have", key)})
		}
		if found.broken != "" {
			findings = append(findings, Finding{kindAssignment, a.Namespace, a.Name, true, found.broken})
		}
		v.Put(compiled)
	}
	return findings, nil
}

func compiledFrom(a *ipxev1.Assignment, found resolved) *assignment.Assignment {
	selector, isDefault := spelling.Selector(&a.Spec)
	return &assignment.Assignment{
		Namespace: a.Namespace, Name: a.Name, Created: a.CreationTimestamp.Time, Admitted: index.Admitted(a), Priority: a.Spec.Priority,
		Selector: selector, Default: isDefault, Profile: found.name, Broken: found.broken,
		Version: max(objectversion.Newest(a), found.version),
	}
}

func selectorOf(a *ipxev1.Assignment) assignment.Selector {
	selector, _ := spelling.Selector(&a.Spec)
	return selector
}

var errNotAskedHere = errors.New("this command does not call webhooks")

// unasked stands for the servers that a snapshot does not ask.
type unasked struct{}

func (unasked) Lookup(content.Request) (content.Result, bool) {
	return content.Result{Err: errNotAskedHere}, true
}
func (unasked) Forget(content.Request)          {}
func (unasked) Subscribe(func(content.Request)) {}

// listed answers from Profiles that were read once, however many assignments ask for theirs.
type listed struct {
	client.Client // of which nothing else is asked
	byName        map[client.ObjectKey]*ipxev1.Profile
	byLabel, all  map[string][]*ipxev1.Profile // as index.ProfileByLabel spells them; by namespace
}

func newListed(profiles []ipxev1.Profile) *listed {
	l := &listed{byName: map[client.ObjectKey]*ipxev1.Profile{}, byLabel: map[string][]*ipxev1.Profile{}, all: map[string][]*ipxev1.Profile{}}
	for i := range profiles {
		p := &profiles[i]
		l.byName[client.ObjectKeyFromObject(p)] = p
		l.all[p.Namespace] = append(l.all[p.Namespace], p)
		for _, label := range index.Labelled(p) {
			l.byLabel[label] = append(l.byLabel[label], p)
		}
	}
	return l
}

func (l *listed) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	p, isProfile := into.(*ipxev1.Profile)
	found, ok := l.byName[key]
	if !isProfile || !ok {
		return apierrors.NewNotFound(ipxev1.Resource("profiles"), key.Name)
	}
	*p = *found
	return nil
}

func (l *listed) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	profiles, ok := into.(*ipxev1.ProfileList)
	if !ok {
		return fmt.Errorf("%T was not read", into)
	}
	var options client.ListOptions
	options.ApplyOptions(opts)
	found := l.all[options.Namespace]
	if options.FieldSelector != nil {
		label, _ := options.FieldSelector.RequiresExactMatch(index.ProfileByLabel)
		found = l.byLabel[label]
	}
	for _, p := range found {
		profiles.Items = append(profiles.Items, *p)
	}
	return nil
}
