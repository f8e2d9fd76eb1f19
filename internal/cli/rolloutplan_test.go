package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpolicy"
	"github.com/farrier-dev/farrier/internal/place"
	"github.com/farrier-dev/farrier/internal/rollout"
	"github.com/farrier-dev/farrier/internal/system"
)

// racked is an available server with a version of its BIOS.
func racked(name, rack, version string) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{place.LabelRack: rack}}}
	s.Status.State, s.Status.BIOSVersion = metalv1.ServerStateAvailable, version
	return s
}

const proposedSets = `apiVersion: farrier.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {maxUnavailable: {rack: 1}, waves: [{upTo: 2, bake: 24h, gates: [ProbeBoot, Health]}]}
---
apiVersion: metal.ironcore.dev/v1alpha1
kind: BIOSVersionSet
metadata: {name: bios, annotations: {farrier.dev/rollout-policy: careful}}
spec:
  serverSelector: {}
  biosVersionTemplate: {version: 2.4.1, image: {URI: http://images.example/bios.bin}}
---
apiVersion: metal.ironcore.dev/v1alpha1
kind: BIOSSettingsSet
metadata: {name: quiet}
spec:
  serverSelector: {matchLabels: {farrier.dev/rack: r2}}
  biosSettingsTemplate: {version: 2.4.1, settingsFlow: [{name: a, priority: 1, settings: {QuietBoot: "true"}}]}
`

// TestThePlanOfAFile: as the plan of a Set that stands, in the order of the file, with what the API would warn of.
func TestThePlanOfAFile(t *testing.T) {
	claimed := racked("n3", "r1", "2.3")
	claimed.Status.State, claimed.Spec.ServerClaimRef = metalv1.ServerStateReserved, &metalv1.ImmutableObjectReference{Namespace: "default", Name: "web"}
	taken := &metalv1.BIOSVersion{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	taken.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "n5"}
	api := fake.NewClientBuilder().WithScheme(system.Scheme()).WithObjects(racked("n1", "r1", "2.3"), racked("n2", "r2", "2.3"), claimed, racked("n4", "r2", "2.4.1"), racked("n5", "r2", "2.3"), taken,
		&metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}).Build()
	file := filepath.Join(t.TempDir(), "bios.yaml")
	if err := os.WriteFile(file, []byte(proposedSets), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `biosversionset/bios goes by RolloutPolicy careful: 3 targets to change, 1 have it already.
Wave 1: up to 2, gates ProbeBoot and Health, then nothing for 24h
  n1  r1  begins now
  n2  r2  begins now
Wave 2: the rest
  n3  r1  waits: wave 1 ends with 2 of 3; the owner of ServerClaim default/web has to approve
Taken by others, and left alone (1):
  n5  BIOSVersion "mine"
BIOSSettingsSet/quiet goes by no RolloutPolicy, so everything begins at once: set the annotation farrier.dev/rollout-policy (docs/rollouts.md).
`
	for path, stdin := range map[string]string{file: "", "-": proposedSets} {
		out, warnings, err := plannedFile(t, api, path, stdin)
		if err != nil {
			t.Fatal(err)
		}
		if out != want {
			t.Errorf("%s: got\n%s\nwant\n%s", path, out, want)
		}
		if !strings.Contains(warnings, `document 2: BIOSVersionSet "bios": spec.serverSelector: an empty selector selects all Servers`) {
			t.Errorf("%s: warnings: %s", path, warnings)
		}
	}
	out, _, err := plannedFile(t, api, "-", strings.Replace(proposedSets, "name: quiet", "name: quiet, annotations: {farrier.dev/rollout-policy: careful}", 1))
	if err != nil || !strings.Contains(out, "Only the BMCs know") || !strings.Contains(out, "n4  r2  begins now") || !strings.Contains(out, "waits: what it has to do is being found out (VersionMismatch)") {
		t.Errorf("settings: %v\n%s", err, out)
	}
}

func plannedFile(t *testing.T, api client.Reader, path, stdin string) (out, warnings string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetIn(strings.NewReader(stdin))
	err = planFile(t.Context(), cmd, api, path)
	return stdout.String(), stderr.String(), err
}

// TestAFileThatHasNoPlan: the error names the file, the document and the field.
func TestAFileThatHasNoPlan(t *testing.T) {
	api := fake.NewClientBuilder().WithScheme(system.Scheme()).Build()
	dir := t.TempDir()
	for content, want := range map[string]string{
		strings.Replace(proposedSets, "biosVersionTemplate", "biosVersionTemplates", 1):                          `bios.yaml: document 2: BIOSVersionSet: unknown field "spec.biosVersionTemplates"`,
		strings.Replace(proposedSets, "upTo: 2", "upTo: 0", 1):                                                   `bios.yaml: document 1: RolloutPolicy "careful": spec.waves[0]`,
		strings.Replace(proposedSets, "farrier.dev/rollout-policy: careful", "farrier.dev/rollout-policy: a", 1): `bios.yaml: document 2: BIOSVersionSet "bios": metadata.annotations[farrier.dev/rollout-policy]`,
		"# nothing":                  "bios.yaml: no BIOSSettingsSet",
		strings.Repeat("#", 1<<20+1): "bios.yaml: longer than 1048576 bytes",
	} {
		file := filepath.Join(dir, "bios.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _, err := plannedFile(t, api, file, ""); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("got %v, want %s\n%s", err, want, out)
		}
	}
	if _, _, err := plannedFile(t, api, filepath.Join(dir, "gone.yaml"), ""); err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("a file that is not there: %v", err)
	}
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"rollout", "plan", "rack1-bios", "-f", "x"}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "not both") {
		t.Errorf("a Set and a file: exit code %d\n%s", code, stderr.String())
	}
}

// TestThePlanInTheTerminal: waves with what stands in them, in order.
func TestThePlanInTheTerminal(t *testing.T) {
	says := rollout.Policy{Fleet: rollout.Count(1), Waves: []rollout.Wave{{UpTo: rollout.Count(1), Bake: time.Hour}}, Failures: rollout.Count(2)}
	facts := &rollout.Facts{
		Machines: []rollout.Machine{{Name: "a", Zone: "z", Rack: "r"}, {Name: "b"}, {Name: "c"}},
		Items: []rollout.Item{
			{ID: "a", Machines: []string{"a"}, Stand: rollout.Failed, Class: "TaskFailed"}, {ID: "b", Machines: []string{"b"}}, {ID: "c", Machines: []string{"c"}},
		},
	}
	steps, decision := rollout.Plan(says, facts)
	p := rolloutpolicy.Planned{Kind: "BIOSVersionSet", Name: "bios", Policy: "careful", Says: says, Decision: decision, Already: 4}
	for _, step := range steps {
		p.Targets = append(p.Targets, rolloutpolicy.PlannedTarget{Step: step, Name: step.Item.ID, Places: map[string][]string{"a": {"z/r"}, "b": {"/"}, "c": {"/r2"}}[step.Item.ID]})
	}
	var out bytes.Buffer
	if err := printPlans(&out, []rolloutpolicy.Planned{p}, ""); err != nil {
		t.Fatal(err)
	}
	want := `biosversionset/bios goes by RolloutPolicy careful: 3 targets to change, 4 have it already.
Nothing begins now: Baking: wave 2 may begin 0001-01-01T01:00:00Z
Wave 1: up to 1, then nothing for 1h
  a  z/r  failed: TaskFailed
Wave 2: the rest
  b  -   waits
  c  r2  waits
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := printPlans(&out, nil, "BIOSVersionSet/other"); err != nil || !strings.HasPrefix(out.String(), "BIOSVersionSet/other goes by no RolloutPolicy") {
		t.Errorf("without a policy: %q, %v", out.String(), err)
	}
}
