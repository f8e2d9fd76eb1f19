package rolloutpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
)

// versions is a proposed BIOSVersionSet for all servers.
func versions(name, version, policy string) *metalv1.BIOSVersionSet {
	set := &metalv1.BIOSVersionSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec.BIOSVersionTemplate.Version = version
	if policy != "" {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: policy}
	}
	return set
}

// hasBIOS has a server show a version.
func (s *fixture) hasBIOS(t *testing.T, name, version string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, name, func(server *metalv1.Server) { server.Status.BIOSVersion = version })
}

// proposes plans a proposal, which writes nothing.
func (s *fixture) proposes(t *testing.T, policies []*farrierv1.RolloutPolicy, sets ...client.Object) []Planned {
	t.Helper()
	s.ForgetWrites()
	plans, err := PlanProposal(t.Context(), s.API, Proposal{Policies: policies, Sets: sets}, s.API.Clock)
	if err != nil {
		t.Fatal(err)
	}
	if writes := s.Writes(""); len(writes) > 0 {
		t.Errorf("a plan writes %v", writes)
	}
	return plans
}

// said is a plan in short: each target with its wave, and whether it begins.
func said(p Planned) string {
	var text []string
	for _, target := range p.Targets {
		word := "waits"
		if target.Begins {
			word = "begins"
		} else if target.Item.Unready {
			word = "unready " + target.Reason
		}
		text = append(text, strings.TrimSpace(fmt.Sprintf("%s %d %s %s", target.Name, target.Wave, word, strings.Join(target.Approvals, ","))))
	}
	return strings.Join(text, "; ")
}

// TestTheProposalOfANewSet: who has the version already is left out, as is who has a child of somebody else; owners of claims are named.
func TestTheProposalOfANewSet(t *testing.T) {
	s := newFixture(t, 6, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("2"), Waves: []farrierv1.Wave{{UpTo: *amount("1"), Bake: "1h"}}})
	for i, version := range []string{"1", "1", "2.0", "1", "", "1"} {
		s.hasBIOS(t, serverName(i), version)
	}
	s.Add(t, &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: metalv1.BIOSVersionSpec{ServerRef: &metalv1.LocalObjectReference{Name: serverName(1)}}})
	s.Add(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}})
	controllertest.Change(t, s.API, serverName(3), func(server *metalv1.Server) {
		server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: "web"}
	})
	s.serverIs(t, serverName(3), metalv1.ServerStateReserved)
	plans := s.proposes(t, nil, versions("bios", "2", "careful"))
	if len(plans) != 1 || plans[0].Kind != "BIOSVersionSet" || plans[0].Name != "bios" || plans[0].Policy != "careful" || plans[0].Already != 1 {
		t.Fatalf("plans: %+v", plans)
	}
	p := plans[0]
	if want := "s000 1 begins; s004 2 unready ReadingVersion; s003 2 waits default/web; s005 2 waits"; said(p) != want {
		t.Errorf("got  %s\nwant %s", said(p), want)
	}
	if len(p.Taken) != 1 || p.Taken[0].Target != serverName(1) || p.Taken[0].By != `BIOSVersion "mine"` {
		t.Errorf("taken: %+v", p.Taken)
	}
	enforced := versions("bios", "2", "careful")
	enforced.Spec.BIOSVersionTemplate.ServerMaintenancePolicy = metalv1.ServerMaintenancePolicyEnforced
	if got := said(s.proposes(t, nil, enforced)[0]); strings.Contains(got, "default/web") {
		t.Errorf("nobody has to approve, and yet: %s", got)
	}
}

// TestTheProposalIsWhatHappens: a Set that is applied begins with what its plan says.
func TestTheProposalIsWhatHappens(t *testing.T) {
	s := newFixture(t, 12, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("3")})
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: rolloutpermit.NoPolicy}
	})
	changed := s.proposal(t, "2", "careful")
	for i := range 12 {
		s.hasBIOS(t, serverName(i), "2")
	}
	var want []string
	for _, target := range s.proposes(t, nil, changed)[0].Targets {
		if target.Begins {
			want = append(want, target.Name)
		}
	}
	controllertest.Change(t, s.API, "settings", func(set *metalv1.BIOSSettingsSet) {
		set.Annotations, set.Spec = changed.Annotations, changed.Spec
	})
	s.makes(t)
	s.decides(t)
	var got []string
	for _, c := range s.open(t) {
		got = append(got, c.Spec.ServerRef.Name)
	}
	slices.Sort(want)
	if slices.Sort(got); len(got) != 3 || !slices.Equal(got, want) {
		t.Errorf("%v begin, planned were %v", got, want)
	}
}

// proposal is the Set of the fixture with another template.
func (s *fixture) proposal(t *testing.T, version, policy string) *metalv1.BIOSSettingsSet {
	t.Helper()
	set := &metalv1.BIOSSettingsSet{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	set.Spec.BIOSSettingsTemplate.Version = version
	if policy != "" {
		set.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: policy}
	}
	return set
}

// TestTheProposalOfAChange: a new template is another rollout, except for what is in progress; one that changes nothing plans what stands.
func TestTheProposalOfAChange(t *testing.T) {
	s := newFixture(t, 4, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("2")})
	for i := range 4 {
		s.hasBIOS(t, serverName(i), "2")
	}
	s.decides(t)
	open := s.open(t)
	s.begins(t, &open[0])
	s.ends(t, &open[1], "")
	s.decides(t)
	if p := s.proposes(t, nil, s.proposal(t, "1", "careful"))[0]; len(p.Targets) != 4 || p.Decision.Begun != 2 || p.Decision.Done != 1 {
		t.Errorf("without a change: %s, %+v", said(p), p.Decision)
	}
	p := s.proposes(t, nil, s.proposal(t, "2", ""))[0]
	if len(p.Targets) != 4 || p.Policy != "careful" || p.Decision.Done != 0 || p.Decision.Begun != 2 || len(p.Decision.Begin) != 1 {
		t.Errorf("with another template: %s, %+v", said(p), p.Decision)
	}
	if p := s.proposes(t, nil, s.proposal(t, "3", "careful"))[0]; !strings.Contains(said(p), "unready VersionMismatch") {
		t.Errorf("for a version that no BIOS has: %s", said(p))
	}
	selecting := s.proposal(t, "2", "careful")
	selecting.Spec.ServerSelector.MatchLabels = map[string]string{"a": "b"}
	if p := s.proposes(t, nil, selecting)[0]; len(p.Targets) != 1 || p.Targets[0].Name != open[0].Spec.ServerRef.Name {
		t.Errorf("of none but what is in progress: %s", said(p))
	}
}

// TestTheProposalOfAPolicy: it counts in the place of one that stands, also as the default.
func TestTheProposalOfAPolicy(t *testing.T) {
	s := newFixture(t, 4, farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("1")})
	for i := range 4 {
		s.hasBIOS(t, serverName(i), "1")
	}
	bolder := &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}, Spec: farrierv1.RolloutPolicySpec{MaxUnavailable: fleetOf("3")}}
	byDefault := bolder.DeepCopy()
	byDefault.Name = farrierv1.DefaultRolloutPolicy
	for name, tt := range map[string]struct {
		policies []*farrierv1.RolloutPolicy
		policy   string
		want     int
	}{
		"that stands":   {nil, "careful", 1},
		"of the file":   {[]*farrierv1.RolloutPolicy{bolder}, "careful", 3},
		"the default":   {[]*farrierv1.RolloutPolicy{byDefault}, "", 3},
		"another's":     {[]*farrierv1.RolloutPolicy{byDefault}, "careful", 1},
		"of no default": {nil, "", 0},
		"none":          {[]*farrierv1.RolloutPolicy{byDefault}, rolloutpermit.NoPolicy, 0},
	} {
		begin := 0
		for _, p := range s.proposes(t, tt.policies, versions("bios", "2", tt.policy)) {
			begin += len(p.Decision.Begin)
		}
		if begin != tt.want {
			t.Errorf("%s: %d begin, want %d", name, begin, tt.want)
		}
	}
}

// TestAProposalOfSeveralSets: of two that select one server the first by name has it, and each has a plan.
func TestAProposalOfSeveralSets(t *testing.T) {
	s := newFixture(t, 2, farrierv1.RolloutPolicySpec{})
	for i := range 2 {
		s.hasBIOS(t, serverName(i), "1")
	}
	plans := s.proposes(t, nil, versions("b", "3", "careful"), versions("a", "2", "careful"))
	if len(plans) != 2 || len(plans[0].Targets) != 2 || plans[0].Name != "a" || len(plans[1].Targets) != 0 || len(plans[1].Taken) != 2 || plans[1].Taken[0].By != `BIOSVersion "a-s000" of BIOSVersionSet "a"` {
		t.Errorf("plans: %+v", plans)
	}
	s.set(t, "lost", "away")
	if plans := s.proposes(t, nil, versions("a", "2", "careful")); len(plans) != 1 {
		t.Errorf("beside a Set without a policy that exists: %+v", plans)
	}
	if _, err := PlanProposal(t.Context(), s.API, Proposal{Sets: []client.Object{versions("a", "2", "away")}}, s.API.Clock); err == nil || !strings.Contains(err.Error(), `"away" does not exist`) {
		t.Errorf("with a policy that does not exist: %v", err)
	}
}

// TestAProposalForBMCs: a BMC is away with its servers.
func TestAProposalForBMCs(t *testing.T) {
	s := newFixture(t, 1, farrierv1.RolloutPolicySpec{})
	for name, version := range map[string]string{"b1": "1", "b2": "2"} {
		s.Add(t, &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: name}})
		controllertest.ChangeStatus(t, s.API, name, func(b *metalv1.BMC) { b.Status.FirmwareVersion = version })
	}
	controllertest.Change(t, s.API, serverName(0), func(server *metalv1.Server) { server.Spec.BMCRef = &metalv1.LocalObjectReference{Name: "b1"} })
	firmware := &metalv1.BMCVersionSet{ObjectMeta: metav1.ObjectMeta{Name: "fw", Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: "careful"}}}
	firmware.Spec.BMCVersionTemplate.Version = "2"
	settings := &metalv1.BMCSettingsSet{ObjectMeta: metav1.ObjectMeta{Name: "set", Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: "careful"}}}
	settings.Spec.BMCSettingsTemplate.Version = "2"
	plans := s.proposes(t, nil, firmware, settings)
	if len(plans) != 2 || plans[1].Already != 1 || said(plans[1]) != "b1 1 begins" || !slices.Equal(plans[1].Targets[0].Places, []string{"z0/r0"}) {
		t.Fatalf("plans: %+v", plans)
	}
	if got := said(plans[0]); !strings.Contains(got, "b1 1 unready VersionMismatch") || !strings.Contains(got, "b2 1 begins") {
		t.Errorf("settings: %s", got)
	}
}
