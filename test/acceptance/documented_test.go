package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// The manifests of the iPXE API as its users have them from its documentation: label keys with two slashes, one of them misspelled, a script
// that begins with "# ipxe", and a status that came along. What the documentation leaves open is filled in.
const documented = `
apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1
kind: Profile
metadata:
  name: your-profile
  namespace: default
  labels:
    assignment/ipxe/buildarch: aarch64
    assignment/extrinsic/region: us-cal
spec:
  # ipxe string
  ipxe: |
    # ipxe
    echo your-profile for {{ .Subject.serial }}
    kernel $kernel config={{ config0 }} ignition.config.url={{ ignitionFile }} cloud-init={{ cloudInit }}
    initrd $initrd
    boot
  # additionalConfig map[string]string
  additionalConfig:
    config0: |
      YOUR CONFIG
    ignitionFile: $ignition
    cloudInit: |
      YOUR CLOUD INIT CONFIG
status:
  additionalConfig:
    config0: 89952e35-2a85-4f03-a6b2-7f9526bfafc0
    ignitionFile: 445a4753-3d59-4429-8cea-7db9febdecad
---
apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1
kind: Assignment
metadata:
  name: your-assignment
  namespace: default
spec:
  # subjectSelector map[string]string
  subjectSelector:
    serialNumber: $serial
    uuid: $uuid
  # profileSelectors map[string]string
  profileSelectors:
    assigment/ipxe/buildarch: aarch64
status:
  conditions: []
`

// TestDocumentedManifests: they are admitted, with a warning for what is illegal; the misspelling is pointed at while the machine waits; and
// once it is corrected the machine boots by them. Then it is asked of the running system why.
func TestDocumentedManifests(t *testing.T) {
	p, rack, kernel, initrd := namelessSite(t)
	machine := rack.Machine(0)
	manifests := strings.NewReplacer("$kernel", kernel, "$initrd", initrd, "$ignition", "'"+ignitionOf("your-profile")+"'",
		"$serial", machine.Serial(), "$uuid", strings.ToUpper(machine.UUID())).Replace(documented)
	heard := p.apply(t, manifests)
	for _, want := range []string{
		`"assignment/ipxe/buildarch" is not a legal label key and was changed to "assignment/ipxe-buildarch"`,
		`"assignment/extrinsic/region" is not a legal label key and was changed to "assignment/extrinsic-region"`,
		`"assigment/ipxe/buildarch" is not a legal label key and was changed to "assigment/ipxe-buildarch"`,
	} {
		if !slices.ContainsFunc(heard, func(got string) bool { return strings.Contains(got, want) }) {
			t.Errorf("no warning of %q in %q", want, heard)
		}
	}
	networkBoot(t, rack, 0)
	var a ipxev1.Assignment
	p.Eventually("the misspelling is pointed at", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: "your-assignment"}, &a); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(a.Status.Conditions, ipxev1.ConditionProfileResolved)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, `Profile "your-profile" has assignment/ipxe-buildarch=aarch64`) {
			return fmt.Errorf("conditions: %+v", a.Status.Conditions)
		}
		return nil
	})
	p.Eventually("the machine is told to wait", func(context.Context) error {
		records := machine.Record()
		if len(records) == 0 || !slices.ContainsFunc(records[0].Fetches, func(f sim.Fetch) bool { return f.Status == http.StatusServiceUnavailable }) {
			return fmt.Errorf("boots: %+v", records)
		}
		return nil
	})
	a.Spec.ProfileSelectors = map[string]string{"assignment/ipxe/buildarch": "aarch64"}
	if err := p.Update(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	p.booted(machine, 1, "your-profile")
	p.configsServed(t, machine)
	t.Run("Explain", func(t *testing.T) { p.explainsAssigned(t, machine) })
	t.Run("BadInput", func(t *testing.T) { p.explainsNothing(t) })
}

// apply creates what is in manifests as clients do that check fields, and returns the warnings.
func (p *running) apply(t *testing.T, manifests string) []string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var heard warnings
	config.WarningHandlerWithContext = &heard
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for manifest := range strings.SplitSeq(manifests, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(manifest))
		if err != nil {
			t.Fatalf("%v:\n%s", err, manifest)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		if err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return heard.texts
}

// warnings are those that came with answers.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// configsServed: each config is under the ID that status names, which is not the one that came with the manifest, and the script names
// its URL.
func (p *running) configsServed(t *testing.T, m *sim.Machine) {
	t.Helper()
	var profile ipxev1.Profile
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "your-profile"}, &profile); err != nil {
		t.Fatal(err)
	}
	line := m.Record()[0].CommandLine
	for name, want := range map[string]string{"config0": "YOUR CONFIG\n", "ignitionFile": ignitionOf("your-profile"), "cloudInit": "YOUR CLOUD INIT CONFIG\n"} {
		id := profile.Status.AdditionalConfig[name]
		if id == "" || strings.Contains(documented, id) || !strings.Contains(line, p.Boot+"/config/"+id+"?uuid="+m.UUID()) {
			t.Errorf("%s has ID %q, and the machine was started with %q", name, id, line)
		}
		response, err := http.Get(p.Boot + "/config/" + id)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: %s %q, %v", name, response.Status, body, err)
		}
	}
}

// farrier runs the command, and returns what it printed and its exit code.
func farrier(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var lines strings.Builder
	process := product.Run(t, product.Farrier, "farrier "+args[0], func(line string) { fmt.Fprintln(&lines, line) }, args...)
	if err := process.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return lines.String(), process.Log(), code
}

// explainsAssigned asks the running system why a machine boots what it boots, and what it would be given.
func (p *running) explainsAssigned(t *testing.T, m *sim.Machine) {
	labels := []string{"--kubeconfig", p.Kubeconfig, "-o", "json", "-l", "uuid=" + m.UUID(), "-l", "serial=" + m.Serial()}
	stdout, stderr, code := farrier(t, append([]string{"explain"}, labels...)...)
	var explanation struct {
		Candidates []struct{ Assignment, Profile, Class, Problem string }
	}
	if err := json.Unmarshal([]byte(stdout), &explanation); err != nil || code != 0 {
		t.Fatalf("explain: exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if c := explanation.Candidates; len(c) != 1 || c[0].Assignment != "default/your-assignment" || c[0].Profile != "your-profile" ||
		c[0].Class != "hardware identity" || c[0].Problem != "" {
		t.Errorf("explain: %s", stdout)
	}
	stdout, stderr, code = farrier(t, append([]string{"render", "--boot-url", p.Boot}, labels...)...)
	var rendering struct {
		Script  string
		Configs []struct{ Name, Content string }
	}
	if err := json.Unmarshal([]byte(stdout), &rendering); err != nil || code != 0 {
		t.Fatalf("render: exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if !strings.HasPrefix(rendering.Script, "#!ipxe\necho your-profile for "+m.Serial()) || len(rendering.Configs) != 3 || rendering.Configs[1].Content != "YOUR CONFIG\n" {
		t.Errorf("render: %s", stdout)
	}
	stdout, stderr, code = farrier(t, "render", "--kubeconfig", p.Kubeconfig, "-l", "uuid=4c4c4544-0043-3510-8052-b7c04f4e4d32")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "no assignment matches the machine") {
		t.Errorf("a machine of nobody: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// explainsNothing: what is wrong is said, and which of what was given is.
func (p *running) explainsNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, err := os.ReadFile(p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(good), "server: ")
	server, _, _ := strings.Cut(after, "\n")
	away := file("away", strings.ReplaceAll(string(good), server, "https://127.0.0.1:1"))
	for name, c := range map[string]struct {
		kubeconfig, argument, want string
	}{
		"no such Server":         {p.Kubeconfig, "node-9", `"node-9" not found`},
		"an API that is away":    {away, "node-9", "connection refused"},
		"no kubeconfig":          {filepath.Join(dir, "nothing"), "node-9", filepath.Join(dir, "nothing")},
		"a kubeconfig of no API": {file("none", "apiVersion: v1\nkind: Config\n"), "node-9", "--kubeconfig"},
		"what is no kubeconfig":  {file("broken", "{"), "node-9", filepath.Join(dir, "broken")},
	} {
		for _, command := range []string{"explain", "render"} {
			stdout, stderr, code := farrier(t, command, "--kubeconfig", c.kubeconfig, c.argument)
			if code != 1 || stdout != "" || !strings.Contains(stderr, "farrier: ") || !strings.Contains(stderr, c.want) {
				t.Errorf("%s, %s: exit code %d, want 1 and %q\n%s%s", name, command, code, c.want, stdout, stderr)
			}
		}
	}
}
