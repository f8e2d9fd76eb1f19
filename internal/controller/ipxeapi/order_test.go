package ipxeapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

const anotherUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d02"

// TestWhoSelectsFewerMachinesServesThem although the other one is older; and one all of whose machines others serve says so, also where it takes
// several others to have them.
func TestWhoSelectsFewerMachinesServesThem(t *testing.T) {
	wide, narrow := newAssignment("wide", "p", nil), newAssignment("narrow", "q", nil)
	wide.Spec.SubjectSelectors = map[string][]string{"uuid": {uuid, anotherUUID}}
	narrow.Spec.SubjectSelectors = map[string][]string{"uuid": {uuid}}
	wide.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	narrow.CreationTimestamp = metav1.NewTime(wide.CreationTimestamp.Add(time.Hour))
	s := newStand(t, newProfile("p", "#!ipxe\necho wide\n"), newProfile("q", "#!ipxe\necho narrow\n"), newProfile("r", "#!ipxe\necho other\n"), wide, narrow)
	s.settle(t, "p:default/p", "p:default/q", "p:default/r", "a:default/wide", "a:default/narrow")
	s.serves(t, uuid, "narrow")
	s.serves(t, anotherUUID, "wide")
	s.assignmentSays(t, "narrow", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	s.assignmentSays(t, "narrow", ipxev1.ConditionConflicted, metav1.ConditionFalse, reasonNoConflict)
	s.assignmentSays(t, "wide", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	s.assignmentSays(t, "wide", ipxev1.ConditionOverridden, metav1.ConditionTrue, ipxev1.ReasonAssignment, uuid, "default/narrow", "fewer values")

	rest := newAssignment("rest", "r", map[string]string{"uuid": anotherUUID})
	s.Add(t, rest)
	s.settle(t, "a:default/rest")
	s.serves(t, anotherUUID, "other")
	s.assignmentSays(t, "wide", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden, "default/narrow", "default/rest")
	s.Remove(t, rest)
	s.settle(t, "a:default/rest")
	s.assignmentSays(t, "wide", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
}

// TestSeveralHaveAllMachinesOfOne: none of them has all of any value, and none of its machines is left. It is told when one of them comes or goes.
func TestSeveralHaveAllMachinesOfOne(t *testing.T) {
	a := newAssignment("a", "p", nil)
	a.Spec.SubjectSelectors = map[string][]string{"uuid": {uuid}, "buildarch": {"arm64", "x86_64"}}
	s := newStand(t, newProfile("p", "#!ipxe\necho a\n"), newProfile("q", "#!ipxe\necho part\n"), a)
	s.settle(t, "p:default/p", "p:default/q", "a:default/a")
	s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	for _, architecture := range []string{"arm64", "x86_64"} {
		part := newAssignment("part-"+strings.ReplaceAll(architecture, "_", "-"), "q", map[string]string{"uuid": uuid, "buildarch": architecture})
		s.Add(t, part)
		s.settle(t, "a:default/"+part.Name)
	}
	s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden, "default/part-arm64", "default/part-x86-64")
	part := newAssignment("part-arm64", "q", nil)
	s.Remove(t, part)
	s.settle(t, "a:default/part-arm64")
	s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
}

// TestOneMachineHasTwoArchitectures: whoever selects by the processor alone has no machine that one who selects by the architecture has not.
func TestOneMachineHasTwoArchitectures(t *testing.T) {
	first, second := newAssignment("first", "p", map[string]string{"buildarch": "x86_64"}), newAssignment("second", "q", map[string]string{"cpuarch": "x86_64"})
	s := newStand(t, newProfile("p", "#!ipxe\necho first\n"), newProfile("q", "#!ipxe\necho second\n"), second)
	s.settle(t, "p:default/p", "p:default/q", "a:default/second")
	s.assignmentSays(t, "second", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
	first.Spec.Priority = 1
	s.Add(t, first)
	s.settle(t, "a:default/first")
	s.assignmentSays(t, "second", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden, "default/first")
}

// TestWhoComesLaterTakesNothingInTheSameSecond, whatever it is called, and a restart does not change that; it is so for Assignments and for Profiles
// that one Assignment selects.
func TestWhoComesLaterTakesNothingInTheSameSecond(t *testing.T) {
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, names := range [][2]string{{"a", "z"}, {"z", "a"}} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			came := func(meta *metav1.ObjectMeta, n int) {
				meta.CreationTimestamp = metav1.NewTime(second)
				meta.Annotations = map[string]string{"farrier.dev/admitted": second.Add(time.Duration(n) * time.Millisecond).Format(time.RFC3339Nano)}
			}
			first, later := newAssignment(names[0], names[0], map[string]string{"uuid": uuid}), newAssignment(names[1], names[1], map[string]string{"uuid": uuid})
			p, q := newProfile(names[0], "#!ipxe\necho first\n"), newProfile(names[1], "#!ipxe\necho later\n")
			selecting := newAssignment("selecting", "", map[string]string{"uuid": anotherUUID})
			selecting.Spec.ProfileSelectors = map[string]string{"assignment/ipxe-buildarch": "arm64"}
			for n, meta := range []*metav1.ObjectMeta{&first.ObjectMeta, &later.ObjectMeta, &p.ObjectMeta, &q.ObjectMeta} {
				came(meta, n)
			}
			s := newStand(t, p, q, first, later, selecting)
			for _, when := range []string{"at first", "after a restart"} {
				s.settle(t, "p:default/"+p.Name, "p:default/"+q.Name, "a:default/"+later.Name, "a:default/"+first.Name, "a:default/selecting")
				s.serves(t, uuid, "first")
				s.serves(t, anotherUUID, "first")
				s.assignmentSays(t, later.Name, ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate, first.Name)
				if t.Failed() {
					t.Fatal(when)
				}
				s.restart(t)
			}
		})
	}
}

// serves fails where a machine's script does not say what is wanted.
func (s *stand) serves(t *testing.T, uuid, want string) {
	t.Helper()
	if got, err := s.script(t, "uuid="+uuid); err != nil || !strings.Contains(got, "echo "+want+"\n") {
		t.Errorf("machine %s boots %q, %v; want %q", uuid, got, err, want)
	}
}
