package manifest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// set is a BIOSVersionSet with something in its metadata and in its template.
func set(metadata, template string) string {
	return "apiVersion: metal.ironcore.dev/v1alpha1\nkind: BIOSVersionSet\nmetadata: {name: bios" + metadata + "}\nspec:\n" +
		"  serverSelector: {matchLabels: {rack: r1}}\n  biosVersionTemplate: {version: \"2\", image: {URI: \"http://h/a\"}" + template + "}\n"
}

// policy is a RolloutPolicy.
func policy(name, spec string) string {
	return "apiVersion: farrier.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

const following = ", annotations: {farrier.dev/rollout-policy: careful}"

// read reads a file beside an API that has the RolloutPolicy "stands".
func read(t *testing.T, content string) (*Manifest, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metalv1.AddToScheme, farrierv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "stands"}}).Build()
	return Read(t.Context(), []byte(content), api)
}

// TestRead: Sets and RolloutPolicies in their order, whatever else is in the file, and of their metadata what people write.
func TestRead(t *testing.T) {
	m, err := read(t, "# a comment\n---\n"+set(following+`, uid: u, resourceVersion: "7", labels: {a: b}`, "")+"status: {fullyLabeledServers: 3}\n---\n"+policy("careful", "paused: true")+
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n---\n"+
		`{apiVersion: v1, kind: List, items: [{apiVersion: metal.ironcore.dev/v1alpha1, kind: BMCSettingsSet, metadata: {name: m}, spec: {bmcSelector: {}, bmcSettingsTemplate: {version: "1"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Sets) != 2 || m.Sets[0].GetName() != "bios" || m.Sets[1].GetName() != "m" || len(m.Policies) != 1 || !m.Policies[0].Spec.Paused {
		t.Fatalf("read %+v", m)
	}
	bios, ok := m.Sets[0].(*metalv1.BIOSVersionSet)
	if !ok || bios.UID != "" || bios.ResourceVersion != "" || bios.Status.FullyLabeledServers != 0 || bios.Labels["a"] != "b" || bios.Spec.BIOSVersionTemplate.Version != "2" || bios.Kind != "BIOSVersionSet" {
		t.Errorf("read %+v", m.Sets[0])
	}
	if len(m.Warnings) != 1 || m.Warnings[0] != `document 5: items[0]: BMCSettingsSet "m": spec.bmcSelector: an empty selector selects all BMCs` {
		t.Errorf("warnings: %q", m.Warnings)
	}
	if _, err := read(t, set(", annotations: {farrier.dev/rollout-policy: stands}", "")); err != nil {
		t.Errorf("a policy of the API: %v", err)
	}
}

// TestReadRefuses what the API would refuse, and says where it stands.
func TestReadRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"nothing":                {"", []string{"no BIOSSettingsSet"}},
		"no Set":                 {policy("careful", ""), []string{"no BIOSSettingsSet"}},
		"no YAML":                {"a: b\n---\n{", []string{"document 1: apiVersion and kind: Required value"}},
		"no YAML later":          {set("", "") + "---\n{", []string{"document 2: "}},
		"no object":              {"- a\n", []string{"document 1: is no object"}},
		"too long":               {strings.Repeat("#", MaxSize+1), []string{"longer than 1048576 bytes"}},
		"too many":               {strings.Repeat("---\n{apiVersion: v1, kind: Secret}\n", mostDocuments+1), []string{"more than 1000 documents"}},
		"unknown field":          {set("", "") + "---\n" + set("", ", imgae: {}"), []string{"document 2: ", `unknown field "spec.biosVersionTemplate.imgae"`}},
		"unknown metadata":       {set(", lables: {a: b}", ""), []string{`unknown field "metadata.lables"`}},
		"key twice":              {set("", `, version: "3"`), []string{"document 1: ", `key "version" already set`}},
		"wrong type":             {set("", ", retryPolicy: 3"), []string{"document 1: BIOSVersionSet: ", "retryPolicy"}},
		"out of range":           {set("", ", retryPolicy: {maxAttempts: 11}"), []string{`document 1: BIOSVersionSet "bios": spec.biosVersionTemplate.retryPolicy.maxAttempts`}},
		"missing":                {strings.Replace(set("", ""), `version: "2", `, "", 1), []string{"spec.biosVersionTemplate.version: Required value"}},
		"no name":                {strings.Replace(set("", ""), "name: bios", "", 1), []string{"metadata.name: Required value"}},
		"impossible name":        {strings.Replace(set("", ""), "name: bios", "name: Bios_", 1), []string{"metadata.name: Invalid value"}},
		"twice":                  {set("", "") + "---\n" + set("", ""), []string{`document 2: BIOSVersionSet "bios": metadata.name: is also in document 1`}},
		"unknown kind":           {set("", "") + "---\n{apiVersion: metal.ironcore.dev/v1alpha1, kind: BIOSVersionsSet}", []string{`document 2: kind: metal.ironcore.dev has no "BIOSVersionsSet"`}},
		"unknown version":        {strings.Replace(set("", ""), "v1alpha1", "v1", 1), []string{`apiVersion: "metal.ironcore.dev/v1" has no BIOSVersionSet`}},
		"selector":               {strings.Replace(set("", ""), "matchLabels: {rack: r1}", "matchExpressions: [{key: a, operator: Like}]", 1), []string{`document 1: BIOSVersionSet "bios": spec.serverSelector`, "Like"}},
		"word about the rollout": {set(", annotations: {farrier.dev/rollout: pasued}", ""), []string{"metadata.annotations[farrier.dev/rollout]", "pasued"}},
		"policy not there":       {set(following, ""), []string{"metadata.annotations[farrier.dev/rollout-policy]", `"careful"`, "does not exist"}},
		"policy":                 {set(following, "") + "---\n" + policy("careful", "waves: [{upTo: 0}]"), []string{`document 2: RolloutPolicy "careful": spec.waves[0]`}},
		"window":                 {set(following, "") + "---\n" + policy("careful", `windows: [{start: "0 0 30 2 *", duration: 6h}]`), []string{"document 2: ", "spec.windows[0]", "never comes"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := read(t, tt.content)
			if err == nil {
				t.Fatalf("read %+v", m)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

// FuzzRead: whatever a file holds, it is read or refused.
func FuzzRead(f *testing.F) {
	f.Add(set(following, "") + "---\n" + policy("careful", "paused: true"))
	f.Add("{apiVersion: v1, kind: List, items: [null]}")
	f.Fuzz(func(t *testing.T, content string) {
		if m, err := read(t, content); err == nil && len(m.Sets) == 0 {
			t.Error("nothing was read, and nothing refused")
		}
	})
}
