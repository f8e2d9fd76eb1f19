package charttest

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
)

// TestRefused: what cannot work is refused before anything is applied, and the error names the value.
func TestRefused(t *testing.T) {
	for values, names := range map[string]string{
		"replica: 3":                                          "replica",
		"replicas: 0":                                         "/replicas",
		"replicas: two":                                       "/replicas",
		"image: {tags: x}":                                    "tags",
		"image: {tag: 'a b'}":                                 "/image/tag",
		"image: {digest: 'sha256:12'}":                        "/image/digest",
		"image: {pullPolicy: Sometimes}":                      "/image/pullPolicy",
		"imagePullSecrets: [{name: x}]":                       "/imagePullSecrets/0",
		"config: {Boot-URL: x}":                               "Boot-URL",
		"config: {boot-url: {a: b}}":                          "/config/boot-url",
		"mounts: [{name: a}]":                                 "/mounts/0",
		"mounts: [{name: a, secret: b, configMap: c}]":        "/mounts/0",
		"credentialNamespaces: ['*']":                         "/credentialNamespaces/0",
		"watchFilter: Hall_1":                                 "/watchFilter",
		"config: {watch-filter: hall-1}":                      "config.watch-filter: the chart sets this flag itself: set watchFilter",
		"data: {kind: hostPath}":                              "/data/kind",
		"data: {size: much}":                                  "/data/size",
		"boot: {service: {type: ExternalName}}":               "/boot/service/type",
		"boot: {service: {httpPort: 0}}":                      "/boot/service/httpPort",
		"boot: {service: {annotations: {a: 1}}}":              "/boot/service/annotations/a",
		"metrics: {enabled: 'yes'}":                           "/metrics/enabled",
		"certs: {mode: self-signed}":                          "/certs/mode",
		"certs: {secret: {caBundle: LS0t}}":                   "/certs/secret/caBundle",
		"resources: {request: {}}":                            "request",
		"tolerations: [{operator: Maybe}]":                    "/tolerations/0/operator",
		"boot: {http: false}":                                 "boot.http, boot.https",
		"boot: {service: {enabled: true}}":                    "boot.service.enabled: needs replicas=1",
		"config: {data-dir: /tmp}":                            "config.data-dir: the chart sets this flag itself: set data",
		"config: {leader-elect: false}":                       "config.leader-elect",
		"config: {install-crds: true}":                        "config.install-crds",
		"certs: {mode: secret}":                               "certs.secret.name",
		"bootServers: {enabled: true, kind: StatefulSet}":     "/bootServers/kind",
		"bootServers: {enabled: true, site: 'hall 2'}":        "/bootServers/site",
		"bootServers: {enabled: true, site: north}":           "bootServers.site: config.boot-url has no URL",
		"bootServers: {enabled: true, config: {dhcp: proxy}}": "bootServers.config.dhcp: needs bootServers.hostNetwork=true",
		"bootServers: {enabled: true, hostNetwork: true, config: {dhcp: server}}":                                                             "needs bootServers.replicas=1",
		"bootServers: {enabled: true, config: {managers: [a:1]}}":                                                                             "bootServers.config.managers",
		"bootServers: {enabled: true, config: {view-key-file: /x}}":                                                                           "set bootServers.viewKeySecret",
		"bootServers: {enabled: true, data: {kind: existing}}":                                                                                "bootServers.data.claimName",
		"bootServers: {enabled: true, data: {kind: existing, claimName: a}}":                                                                  "needs bootServers.kind=Deployment and bootServers.replicas=1",
		"bootServers: {enabled: true, ports: {http: 0}}":                                                                                      "/bootServers/ports/http",
		"bootServers: {enabled: true, service: {externalTrafficPolicy: Global}}":                                                              "/bootServers/service/externalTrafficPolicy",
		"bootStream: {enabled: true, certs: {mode: secret}}":                                                                                  "bootStream.certs.managerSecret",
		"bootServers: {enabled: true}\nbootStream: {certs: {mode: secret, managerSecret: a}}":                                                 "bootStream.certs.bootServersSecret",
		"config: {boot-stream-address: ':1'}":                                                                                                 "config.boot-stream-address: the chart sets this flag itself: set bootStream.enabled",
		"bootServers: {enabled: true, metrics: {enabled: true}}\nbootStream: {certs: {mode: secret, managerSecret: a, bootServersSecret: b}}": "bootServers.metrics.secret",
		"certs: {mode: secret, secret: {name: x}}":                                                                                            "certs.secret.caBundle",
	} {
		if _, _, err := render(withCertManager, values); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: the error does not have %q: %v", values, names, err)
		}
	}
	for value, values := range map[string]string{"metrics.serviceMonitor.enabled": "metrics: {serviceMonitor: {enabled: true}}", "metrics.rules.enabled": "metrics: {rules: {enabled: true}}"} {
		if _, _, err := render(withCertManager, values); err == nil || !strings.Contains(err.Error(), value+": this cluster has no Prometheus operator") {
			t.Errorf("%s without the operator: %v", value, err)
		}
	}
	if _, _, err := render(withPrometheus, "metrics: {enabled: false, serviceMonitor: {enabled: true}}"); err == nil || !strings.Contains(err.Error(), "needs metrics.enabled=true") {
		t.Errorf("a monitor of nothing: %v", err)
	}
	if _, _, err := render(plain, "{webhooks: {enabled: false}, bootServers: {enabled: true}}"); err == nil || !strings.Contains(err.Error(), "make them with 'farrier cert' and set bootStream.certs.mode=secret") {
		t.Errorf("boot servers without cert-manager: %v", err)
	}
}

// TestSchema: every object of the schema refuses what it does not name, or says what its keys hold; and every value of values.yaml has a comment.
func TestSchema(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	text := string(chart.Schema)
	if objects, closed := strings.Count(text, `"type": "object"`), strings.Count(text, `"additionalProperties"`); objects != closed+1 { // global is Helm's
		t.Errorf("%d objects, of which %d say what else may be in them", objects, closed)
	}
	values, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(values), "\n")
	key := regexp.MustCompile(`^ *[a-zA-Z]+:`)
	// The block is explained above it; these names say it all.
	plainly := regexp.MustCompile(`^ +(enabled|requests|cpu|memory):`)
	for i, line := range lines {
		if key.MatchString(line) && !plainly.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
			t.Errorf("values.yaml:%d: no comment above %s", i+1, line)
		}
	}
}

// everything sets every kind of value that a flag can have, as a file of values that Helm has read.
const everything = `
boot: {https: true}
config:
  boot-url: ["http://192.0.2.1:8082", "hall-2=http://198.51.100.1:8082"]
  allowed-registries: [ghcr.io, registry.example.org]
  image-cache-size: 10737418240
  max-connections: 4096
  power-off-budget: 10m
  enforce-power-off: false
  boot-identity: mac
  dhcp-dns: []
`

// TestTheManagerTakesTheFile: the built manager knows every flag of the file --config and takes every value.
func TestTheManagerTakesTheFile(t *testing.T) {
	file := one[*corev1.ConfigMap](t, rendered(t, withCertManager, everything), "farrier-manager").Data["farrier-manager.yaml"]
	if !strings.Contains(file, "image-cache-size: 10737418240\n") {
		t.Errorf("a large number has become another one:\n%s", file)
	}
	if out := start(t, file); strings.Contains(out, "--config:") {
		t.Errorf("the manager refuses the file: %s\n%s", out, file)
	}
	// What the chart sets is in --help, too, and not among the flags that are kept for others.
	help := start(t, "", "--help")
	for line := range strings.Lines(file) {
		if name, _, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, "-") && !strings.Contains(help, "--"+name+" ") {
			t.Errorf("farrier-manager --help does not have --%s", name)
		}
	}
	if out := start(t, file+"no-such-flag: 1\n"); !strings.Contains(out, "--config:") {
		t.Errorf("the manager takes any file, so this test proves nothing: %s", out)
	}
}

// start runs the built manager with a file of flags, without a Kubernetes API, and returns what it says.
func start(t *testing.T, file string, arguments ...string) string {
	t.Helper()
	if len(arguments) > 0 {
		return ran(t, "FARRIER_TEST_MANAGER", arguments...)
	}
	path := filepath.Join(t.TempDir(), "farrier-manager.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return ran(t, "FARRIER_TEST_MANAGER", "--config", path, "--kubeconfig", filepath.Join(t.TempDir(), "none"))
}

// ran runs a built program, which a variable names, and returns what it says.
func ran(t *testing.T, variable string, arguments ...string) string {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skip(variable + " names no program: make acceptance sets it")
	}
	out, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// TestValuesAreKnown: values.yaml, the schema and docs/install.md have the same values. Of what users fill in the schema knows the form alone; the page names
// each block.
func TestValuesAreKnown(t *testing.T) {
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	inSchema, inValues := map[string]bool{}, map[string]bool{}
	paths(schema, "", inSchema)
	delete(inSchema, "global") // Helm's
	leaves(c.Values, "", inSchema, inValues)
	for _, both := range []struct {
		have, lack map[string]bool
		in, notIn  string
	}{{inSchema, inValues, "the schema", "values.yaml"}, {inValues, inSchema, "values.yaml", "the schema"}} {
		for path := range both.have {
			// What pods ask for has no default but these.
			if !both.lack[path] && !strings.Contains(path, "resources.limits") && !strings.HasSuffix(path, "ephemeral-storage") {
				t.Errorf("%s is in %s and not in %s", path, both.in, both.notIn)
			}
		}
	}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range c.Values {
		if !regexp.MustCompile("`" + name + "[`.:]").Match(page) {
			t.Errorf("docs/install.md does not name the value %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`((?:"+strings.Join(slices.Sorted(maps.Keys(c.Values)), "|")+`)(?:\.[a-zA-Z]+)+)`).FindAllStringSubmatch(string(page), -1) {
		if path := m[1]; !inValues[path] && !hasBelow(inValues, path) && !strings.HasPrefix(path, "config.") && !strings.HasPrefix(path, "bootServers.config.") {
			t.Errorf("docs/install.md names %s, which is no value", path)
		}
	}
}

// paths notes what a schema knows: properties that have none of their own.
func paths(schema map[string]any, at string, found map[string]bool) {
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		if _, more := below.(map[string]any)["properties"]; more {
			paths(below.(map[string]any), path, found)
		} else {
			found[path] = true
		}
	}
}

// leaves notes the values of a file, down to where the schema ends.
func leaves(values map[string]any, at string, known, found map[string]bool) {
	for name, value := range values {
		path := strings.TrimPrefix(at+"."+name, ".")
		if below, more := value.(map[string]any); more && !known[path] {
			leaves(below, path, known, found)
		} else {
			found[path] = true
		}
	}
}

// hasBelow reports whether a path is that of a block.
func hasBelow(paths map[string]bool, block string) bool {
	for path := range paths {
		if strings.HasPrefix(path, block+".") {
			return true
		}
	}
	return false
}
