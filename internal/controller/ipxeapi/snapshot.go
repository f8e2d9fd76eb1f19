package ipxeapi

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/assignment"
	"github.com/farrier-dev/farrier/internal/content"
	"github.com/farrier-dev/farrier/internal/profile"
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
	findings, err := snapshotProfiles(ctx, from, key, v)
	if err != nil {
		return nil, nil, err
	}
	more, err := snapshotAssignments(ctx, from, v)
	if err != nil {
		return nil, nil, err
	}
	v.SetSynced(true)
	return v, append(findings, more...), nil
}

func snapshotProfiles(ctx context.Context, from client.Reader, key []byte, v *profile.View) ([]Finding, error) {
	var all ipxev1.ProfileList
	if err := from.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Profiles: %w", err)
	}
	var findings []Finding
	r := &Profiles{APIReader: from, Webhooks: unasked{}, Key: key}
	for i := range all.Items {
		p := &all.Items[i]
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
	return findings, nil
}

func snapshotAssignments(ctx context.Context, from client.Reader, v *profile.View) ([]Finding, error) {
	var all ipxev1.AssignmentList
	if err := from.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Assignments: %w", err)
	}
	var findings []Finding
	r := &Assignments{Client: readOnly{Reader: from}, View: v}
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
	return &assignment.Assignment{
		Namespace: a.Namespace, Name: a.Name, Created: a.CreationTimestamp.Time, Priority: a.Spec.Priority,
		Selector: assignment.NewSelector(a.Spec.SubjectSelector, a.Spec.SubjectSelectors),
		Profile:  found.name, Broken: found.broken,
	}
}

var errNotAskedHere = errors.New("webhooks are not asked here")

// unasked stands for the servers that a snapshot does not ask.
type unasked struct{}

func (unasked) Lookup(content.Request) (content.Result, bool) {
	return content.Result{Err: errNotAskedHere}, true
}
func (unasked) Forget(content.Request)          {}
func (unasked) Subscribe(func(content.Request)) {}

// readOnly reads as a client does, and has nothing to write with.
type readOnly struct {
	client.Client
	client.Reader
}

func (r readOnly) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return r.Reader.Get(ctx, key, obj, opts...)
}

func (r readOnly) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.Reader.List(ctx, list, opts...)
}
