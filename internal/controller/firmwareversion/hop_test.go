package firmwareversion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// describes is a FirmwareImage of a version, with a name and a URI made of it; requires is the version that has to be there, or empty.
func describes(base, version, requires string, change ...func(*farrierv1.FirmwareImageSpec)) *farrierv1.FirmwareImage {
	f := &farrierv1.FirmwareImage{ObjectMeta: metav1.ObjectMeta{Name: "f-" + version}}
	f.Spec.Version, f.Spec.Image.URI = version, base+"-"+version+".bin"
	if requires != "" {
		f.Spec.Requires = &farrierv1.FirmwareRequirement{Version: requires, Image: "f-" + requires}
	}
	for _, c := range change {
		c(&f.Spec)
	}
	return f
}

func TestWhatComesFirst(t *testing.T) {
	const base = "http://h/bios"
	images := catalog{*describes(base, "2.0", ""), *describes(base, "3.0", "2.0"), *describes(base, "4.0", "3.0")}
	lost := *describes(base, "6.0", "5.0")
	low := *describes(base, "7.0", "2.0", func(s *farrierv1.FirmwareImageSpec) { s.Requires.Version = "3.0" })
	circle := *describes(base, "8.0", "", func(s *farrierv1.FirmwareImageSpec) {
		s.Requires = &farrierv1.FirmwareRequirement{Version: "8.0", Image: "f-8.0"}
	})
	images = append(images, lost, low, circle)
	for name, tc := range map[string]struct{ from, to, want, wrong string }{
		"nothing":                  {"3.0", "4.0", "4.0", ""},
		"one":                      {"2.9", "4.0", "3.0", ""},
		"two":                      {"1.0", "4.0", "2.0", ""},
		"an older version":         {"5.0", "4.0", "4.0", ""},
		"an image of nobody":       {"1.0", "9.0", "9.0", ""},
		"one that does not exist":  {"1.0", "6.0", "", `FirmwareImage "f-5.0", which should come first, does not exist`},
		"one that is not enough":   {"1.0", "7.0", "", `"f-2.0", which should come first, has version "2.0"`},
		"itself":                   {"1.0", "8.0", "", "more than 8 images"},
		"with a v, as some say it": {"v2.9", "v4.0", "3.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &metalv1.VersionTemplate{Version: tc.to, Image: metalv1.ImageSpec{URI: base + "-" + strings.TrimPrefix(tc.to, "v") + ".bin#sha256=" + strings.Repeat("ab", 32)}}
			got, err := images.next(images.asked(spec), tc.from)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || reasonOf(err, "") == "" {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || bmc.CompareVersions(got.version, tc.want) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestEveryHopIsNearer: whatever the images require, each one that comes first has a newer version than what is there, and the last is the one that was asked for.
func TestEveryHopIsNearer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base = "http://h/bios"
		n := rapid.IntRange(1, 7).Draw(t, "images")
		var images catalog
		for i := range n {
			requires := ""
			if i > 0 && rapid.Bool().Draw(t, "requires") {
				requires = fmt.Sprintf("%d.0", rapid.IntRange(1, i).Draw(t, "which"))
			}
			images = append(images, *describes(base, fmt.Sprintf("%d.0", i+1), requires))
		}
		version := fmt.Sprintf("%d.%d", rapid.IntRange(0, n).Draw(t, "major"), rapid.IntRange(0, 9).Draw(t, "minor"))
		goal := images.asked(&metalv1.VersionTemplate{Version: fmt.Sprintf("%d.0", n), Image: metalv1.ImageSpec{URI: fmt.Sprintf("%s-%d.0.bin", base, n)}})
		for range maxHops {
			h, err := images.next(goal, version)
			if err != nil {
				t.Fatal(err)
			}
			if h.image == goal.image {
				return
			}
			if bmc.CompareVersions(h.version, version) <= 0 {
				t.Fatalf("%q comes after %q", h.version, version)
			}
			version = h.version
		}
		t.Fatal("it does not end")
	})
}

// knows has a FirmwareImage of each version, each of which requires the one before.
func (s *stand) knows(t *testing.T, versions ...string) {
	t.Helper()
	before := ""
	for _, version := range versions {
		s.Add(t, describes(s.base(), version, before))
		before = version
	}
}

// base is how the URIs of images begin.
func (s *stand) base() string { return s.images.URL + "/" + strings.ToLower(s.Kind.firmware) }

// TestVersionHops: what an image requires is installed first, also where BMCs get images from Farrier, and where the manager is killed.
func TestVersionHops(t *testing.T) {
	for _, kind := range Kinds() {
		from := map[*Kind][2]string{BIOS: {"2.4.2", "2.4.9"}, BMC: {"1.12.1", "1.12.9"}}[kind]
		for name, tc := range map[string]struct {
			vendor         sim.Vendor
			serves, killed bool
		}{
			"fetched":               {sim.Standard, false, false},
			"at the start":          {sim.Dell, false, false},
			"from Farrier, killed":  {sim.Standard, true, true},
			"sent, killed":          {sim.Supermicro, true, true},
			"at the start, killed":  {sim.HPE, false, true},
			"a job at the BMC":      {sim.Lenovo, false, false},
			"from Farrier":          {sim.Standard, true, false},
			"at the start, by Dell": {sim.Dell, true, true},
		} {
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStand(t, kind, tc.vendor)
				s.keepsImages(t, tc.serves)
				last := "2.5.0"
				s.knows(t, from[0], from[1], last)
				s.Add(t, s.wanted())
				s.waits(t)
				controllertest.Says(t, s.version(t).status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonWaitingForMaintenance, `"f-`+from[0]+`"`, "first")
				s.grants(t)
				var seen []string
				i := s.until(t, "Completed", func(i *item) bool {
					p := progressOf(i)
					if p != nil && p.To != "" && (len(seen) == 0 || seen[len(seen)-1] != p.To) {
						seen = append(seen, p.To)
					}
					if p != nil && p.Said == "Pending" {
						s.clock.forward(startGrace)
					}
					if tc.killed {
						s.killedAtNewSteps(i)
					}
					return i.status.State == metalv1.VersionStateCompleted
				})
				if want := []string{from[0], from[1], last}; !slices.Equal(seen, want) {
					t.Errorf("installed %q, want %q", seen, want)
				}
				if n := s.posted.Load() + s.pushed.Load(); n != 3 {
					t.Errorf("%d updates were started", n)
				}
				s.returned(t, i)
				if kind == BIOS {
					s.bootedNoDisk(t)
				}
			})
		}
	}
}

// killedAtNewSteps has a manager that knows nothing take over whenever another step begins.
func (s *stand) killedAtNewSteps(i *item) {
	if p := progressOf(i); p != nil && p.To+string(p.Step) != s.killed {
		s.killed = p.To + string(p.Step)
		s.Reconciler = s.process(s.Kind, s.Fleet, connection.NewRegistry(s.Fleet))
	}
}

// first is the version with which the firmware begins.
func (s *stand) first() string { return s.Kind.either("2.4.1", "1.12.0") }

// TestAHopThatGoesWrong ends the way, and a person who retries goes on from where the firmware is.
func TestAHopThatGoesWrong(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard)
	s.knows(t, "2.4.2", "2.5.0")
	id := s.goesWrong(t, fault.Spec{Kind: fault.BadUpdate, Value: "fails"})
	s.Add(t, s.wanted())
	s.grants(t)
	i := s.fails(t)
	controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonTaskFailed, "could not be applied")
	s.returned(t, i)
	if err := s.rack.ClearFault(id); err != nil {
		t.Fatal(err)
	}
	s.operates(t, metalv1.OperationRetry)
	s.grants(t)
	s.returned(t, s.completes(t))
	if n := s.posted.Load(); n != 3 {
		t.Errorf("%d updates were started", n)
	}
}

// TestAnImageThatIsNotKnown: nothing is asked of the server until the FirmwareImage is there that has to come first.
func TestAnImageThatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard)
	s.Add(t, describes(s.base(), "2.5.0", "2.4.2"))
	s.Add(t, s.wanted())
	i := s.untilState(t, metalv1.VersionStateFailed)
	controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonFirmwareImageNotFound, `"f-2.4.2"`)
	if len(s.Writes("ServerMaintenance")) > 0 {
		t.Error("the server was asked for")
	}
	s.Add(t, describes(s.base(), "2.4.2", ""))
	if got := s.unfinished(t.Context(), nil); len(got) != 1 || got[0].Name != "v" {
		t.Errorf("a FirmwareImage wakes %v", got)
	}
	s.grants(t)
	s.returned(t, s.completes(t))
}

// operates sets the annotation of an operation.
func (s *stand) operates(t *testing.T, operation string) {
	t.Helper()
	i := s.version(t)
	before := i.copied()
	annotations := i.GetAnnotations()
	annotations[metalv1.AnnotationOperation] = operation
	i.SetAnnotations(annotations)
	if err := s.patch(t.Context(), i, before); err != nil {
		t.Fatal(err)
	}
}
