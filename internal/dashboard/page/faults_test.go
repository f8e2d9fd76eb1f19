package page

import (
	"context"
	"html"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/diagnosis/faults"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// TestAPageSaysWhatTheTerminalSays of every fault that a server or a claim has: the same two sentences.
func TestAPageSaysWhatTheTerminalSays(t *testing.T) {
	shown := 0
	for name, fault := range faults.All {
		facts := *fault.Facts
		if len(facts.Candidates) > 0 { // of a machine that a Server stands for, too
			facts.Server = faults.Rack(func(*diagnosis.Facts) {}).Server
		}
		if facts.Server == nil && facts.Claim == nil {
			continue // the pages have no machine that is like no Server
		}
		t.Run(name, func(t *testing.T) {
			shown++
			s, draw := siteOf(t, &facts)
			view, err := draw(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			answer, drawn := diagnosis.Explain(&facts), htmlOf(t, view)
			for _, sentence := range []string{answer.Cause, answer.Next} {
				if !strings.Contains(html.UnescapeString(drawn), sentence) {
					t.Errorf("the page does not say %q", sentence)
				}
			}
		})
	}
	if shown < 20 {
		t.Errorf("%d faults shown", shown)
	}
}

// siteOf is a site in which the facts hold, and the page of what they are about.
func siteOf(t *testing.T, f *diagnosis.Facts) (Source, func(context.Context, Source) (View, error)) {
	t.Helper()
	var objects []client.Object
	if s := f.Server; s != nil {
		s = s.DeepCopy()
		if f.BMC != nil {
			s.Spec.BMCRef = &metalv1.LocalObjectReference{Name: f.BMC.Name}
		}
		if f.Config != nil {
			s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: f.Config.Namespace, Name: f.Config.Name}
			objects = append(objects, f.Config.DeepCopy())
		}
		if f.Claim != nil {
			s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: f.Claim.Namespace, Name: f.Claim.Name}
		}
		objects = append(objects, s)
	}
	if f.BMC != nil {
		objects = append(objects, f.BMC.DeepCopy())
	}
	if f.Claim != nil {
		objects = append(objects, f.Claim.DeepCopy())
	}
	for i := range f.Servers {
		objects = append(objects, f.Servers[i].DeepCopy())
	}
	for _, c := range f.Candidates {
		objects = append(objects, assignmentOf(c.Assignment), profileOf(c.Assignment))
	}
	s := Source{
		Objects: controllertest.NewAPI(t, objects...), Manager: faults.Manager, Now: f.Now,
		Boots:   func(context.Context, string) (operator.Boots, error) { return operator.Boots{Boots: f.Boots}, nil },
		Logbook: func(context.Context, string) ([]logbook.Entry, error) { return f.Logged, nil },
		Unknown: func(context.Context) ([]operator.UnknownMachine, error) { return f.Unknown, nil },
	}
	if f.Server != nil {
		return s, func(ctx context.Context, s Source) (View, error) { return Server(ctx, s, f.Server.Name) }
	}
	return s, func(ctx context.Context, s Source) (View, error) {
		return Claim(ctx, s, f.Claim.Namespace, f.Claim.Name)
	}
}

// assignmentOf selects the machine of the faults, for a Profile of its own.
func assignmentOf(key string) *ipxev1.Assignment {
	a := &ipxev1.Assignment{}
	a.Namespace, a.Name, _ = strings.Cut(key, "/")
	a.Spec.SubjectSelector, a.Spec.ProfileName = map[string]string{"uuid": faults.UUID}, a.Name
	return a
}

func profileOf(key string) *ipxev1.Profile {
	p := &ipxev1.Profile{}
	p.Namespace, p.Name, _ = strings.Cut(key, "/")
	p.Spec.IPXE = "#!ipxe\nboot\n"
	return p
}
