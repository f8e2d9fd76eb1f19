package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/admission"
	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
)

func endpoint(t *testing.T, name, mac string) *unstructured.Unstructured {
	t.Helper()
	return admissiontest.Parse(t, fmt.Sprintf("{apiVersion: metal.ironcore.dev/v1alpha1, kind: Endpoint, metadata: {name: %s}, spec: {macAddress: '%s'}}", name, mac))
}

func requestFor(object, old *unstructured.Unstructured) admission.Request {
	return admission.Request{
		Kind: object.GroupVersionKind().GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Object: object, Old: old,
	}
}

// blind is a cache that has not heard of anything yet.
type blind struct{ client.Reader }

func (blind) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestWhatTheIndexDoesNotKnowYet: two requests of one client, the second before the first has reached the cache.
func TestWhatTheIndexDoesNotKnowYet(t *testing.T) {
	a := newAlone(t)
	now := clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	a.Rules = &admission.Rules{Cached: blind{a.store}, Live: a.store, Clock: now}
	judge := func(request admission.Request) bool {
		t.Helper()
		verdict, err := a.Validate(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return verdict.Allowed()
	}
	first, second := endpoint(t, "first", "02:00:00:00:00:01"), endpoint(t, "second", "02-00-00-00-00-01")
	dry := requestFor(first, nil)
	dry.DryRun = true
	if !judge(dry) || !judge(requestFor(first, nil)) {
		t.Fatal("the first is refused")
	}
	if !judge(requestFor(second, nil)) {
		t.Error("refused because of an Endpoint that was admitted and then not stored")
	}
	a.Give(t, first)
	if judge(requestFor(second, nil)) {
		t.Error("admitted although the first has been stored")
	}
	now.SetTime(now.Now().Add(time.Minute))
	if !judge(requestFor(endpoint(t, "third", "02:00:00:00:00:03"), nil)) {
		t.Error("the third is refused")
	}
	if !judge(requestFor(second, nil)) {
		t.Error("what was admitted is remembered for ever: a cache is not so far behind")
	}
}

// stale is a cache that still has what was deleted.
type stale struct {
	client.Reader
	old client.Reader
}

func (s stale) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.old.List(ctx, list, opts...)
}

func TestWhatTheIndexStillKnows(t *testing.T) {
	before, after := newAlone(t), newAlone(t)
	before.Give(t, endpoint(t, "gone", "02:00:00:00:00:01"))
	rules := &admission.Rules{Cached: stale{after.store, before.store}, Live: after.store}
	verdict, err := rules.Validate(t.Context(), requestFor(endpoint(t, "new", "02:00:00:00:00:01"), nil))
	if err != nil || !verdict.Allowed() {
		t.Errorf("refused because of an Endpoint that is gone: %v %v", verdict.Errors, err)
	}
}

// away is an API that does not answer.
type away struct{ client.Reader }

func (away) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

func (away) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("connection refused")
}

// TestWhatCannotBeJudged: an error is no verdict, and says what could not be read.
func TestWhatCannotBeJudged(t *testing.T) {
	rules := &admission.Rules{Cached: away{}, Live: away{}}
	_, err := rules.Validate(t.Context(), requestFor(endpoint(t, "e", "02:00:00:00:00:01"), nil))
	if err == nil || !strings.Contains(err.Error(), `Endpoint "e"`) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	object := admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: Server, metadata: {name: s}, spec: {systemUUID: ''}}")
	if _, err := rules.Validate(t.Context(), requestFor(object, nil)); err == nil {
		t.Error("a Server was judged although nothing could be read")
	}
}

// TestUpdatesAreRefusedForWhatTheyChange: what was stored before a rule existed can be labelled, reconciled and deleted.
func TestUpdatesAreRefusedForWhatTheyChange(t *testing.T) {
	for i, c := range admissiontest.Cases {
		if c.Refused == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			a := newAlone(t)
			fill := strings.NewReplacer("$ns", a.Namespace(t), "$n", fmt.Sprintf("%02x", i)).Replace
			for _, given := range c.Given {
				a.Give(t, admissiontest.Parse(t, fill(given)))
			}
			old := admissiontest.Parse(t, fill(c.Object))
			updated := old.DeepCopy()
			updated.SetLabels(map[string]string{"a": "b"})
			if outcome := a.Request(t, updated, old); len(outcome.Causes) > 0 {
				t.Errorf("a label is refused: %q", outcome.Causes)
			}
			deleted := admissiontest.Parse(t, fill(c.Object))
			unstructured.RemoveNestedField(deleted.Object, "spec", "serverRef")
			if err := unstructured.SetNestedField(deleted.Object, "2026-03-01T12:00:00Z", "metadata", "deletionTimestamp"); err != nil {
				t.Fatal(err)
			}
			if outcome := a.Request(t, deleted, nil); len(outcome.Causes)+len(outcome.Warnings) > 0 {
				t.Errorf("what is being deleted is judged: %q %q", outcome.Causes, outcome.Warnings)
			}
		})
	}
}

// TestOtherShapesAreLeftToTheSchema: an object of another shape than its kind is not judged, and nothing panics.
func TestOtherShapesAreLeftToTheSchema(t *testing.T) {
	rules := &admission.Rules{Cached: away{}, Live: away{}}
	for _, resource := range admission.Resources(admission.Validates) {
		for _, spec := range []string{"[]", "text", "{macAddress: {}, systemUUID: 1, image: [], serverRef: 7, kernelURL: 1, ukiURL: 1, bmcSecretRef: 1, windows: 1, waves: [], failureLimit: {}}"} {
			for _, kind := range []string{"Endpoint", "BMC", "Server", "ServerClaim", "ServerMaintenance", "BIOSSettings", "BMCSettings", "BMCSettingsSet", "BIOSSettingsSet", "BMCVersionSet", "BIOSVersionSet", "BIOSVersion", "BMCVersion", "RolloutPolicy", "IPXEBootConfig", "HTTPBootConfig"} {
				object := admissiontest.Parse(t, "{apiVersion: "+resource.Group+"/v1alpha1, kind: "+kind+", metadata: {name: a}, spec: "+spec+"}")
				if verdict, err := rules.Validate(t.Context(), requestFor(object, nil)); err != nil || !verdict.Allowed() {
					t.Errorf("%s with spec %s: %v %v", kind, spec, verdict.Errors, err)
				}
			}
		}
	}
}

// counting counts what is read of an API.
type counting struct {
	client.Reader
	gets int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	c.gets++
	return c.Reader.Get(ctx, key, into, opts...)
}

// TestWarningsAreSparing: a thousand claims at once are not held up by reads for warnings alone, and what memory knows is not asked for at all.
func TestWarningsAreSparing(t *testing.T) {
	a := newAlone(t)
	live := &counting{Reader: a.store}
	a.Rules = &admission.Rules{ManagerNamespace: "farrier-system", Cached: a.store, Live: live}
	const n = 1000
	for i := range n {
		claim := admissiontest.Parse(t, fmt.Sprintf("{apiVersion: metal.ironcore.dev/v1alpha1, kind: ServerClaim, metadata: {name: c%d, namespace: default}, "+
			"spec: {power: 'On', image: 'registry/os:1', ignitionSecretRef: {name: missing}}}", i))
		outcome := a.Request(t, claim, nil)
		if len(outcome.Causes) > 0 || i == 0 && len(outcome.Warnings) != 1 {
			t.Fatalf("claim %d: %q %q", i, outcome.Causes, outcome.Warnings)
		}
	}
	if live.gets > n/2 {
		t.Errorf("%d reads for %d claims", live.gets, n)
	}
	live.gets = 0
	for i := range n {
		a.Request(t, endpoint(t, fmt.Sprintf("e%d", i), fmt.Sprintf("02:00:00:00:%02x:%02x", i/256, i%256)), nil)
	}
	if live.gets > 0 {
		t.Errorf("%d reads for %d Endpoints of which nothing is wrong", live.gets, n)
	}
}

// TestNamesThatWereTakenAMomentAgo: a claim in the manager's namespace whose name the cache has not heard of.
func TestNamesThatWereTakenAMomentAgo(t *testing.T) {
	a := newAlone(t)
	a.Rules = &admission.Rules{ManagerNamespace: "farrier-system", Cached: newAlone(t).store, Live: a.store}
	claim := admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: ServerClaim, metadata: {name: s, namespace: farrier-system}, spec: {power: 'On', image: i}}")
	if outcome := a.Request(t, claim, nil); len(outcome.Causes) > 0 {
		t.Fatalf("the claim is refused: %q", outcome.Causes)
	}
	a.Give(t, claim)
	server := admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: Server, metadata: {name: s}, spec: {systemUUID: ''}}")
	if outcome := a.Request(t, server, nil); len(outcome.Causes) != 1 {
		t.Errorf("refused for %q, want the claim's name", outcome.Causes)
	}
}

// TestASelectorIsNotHeldAgainstMemory: a Server is labelled, and claimed by name and label before memory has heard of the label.
func TestASelectorIsNotHeldAgainstMemory(t *testing.T) {
	const manifest = "{apiVersion: metal.ironcore.dev/v1alpha1, kind: Server, metadata: {name: s, labels: {rack: %s}}, spec: {systemUUID: ''}}"
	claim := func(rack string) *unstructured.Unstructured {
		return admissiontest.Parse(t, `{apiVersion: metal.ironcore.dev/v1alpha1, kind: ServerClaim, metadata: {name: c, namespace: ns},
			spec: {power: "On", image: "registry/os:1", serverRef: {name: s}, serverSelector: {matchLabels: {rack: `+rack+`}}}}`)
	}
	before, after := newAlone(t), newAlone(t)
	before.Give(t, admissiontest.Parse(t, fmt.Sprintf(manifest, "old")))
	after.Give(t, admissiontest.Parse(t, fmt.Sprintf(manifest, "new")))
	rules := &admission.Rules{Cached: before.store, Live: after.store}
	for rack, warnings := range map[string]int{"new": 0, "third": 1} {
		verdict, err := rules.Validate(t.Context(), requestFor(claim(rack), nil))
		if err != nil || !verdict.Allowed() || len(verdict.Warnings) != warnings {
			t.Errorf("rack %s: %v %q %v", rack, verdict.Errors, verdict.Warnings, err)
		}
	}
	rules = &admission.Rules{Cached: before.store, Live: newAlone(t).store}
	verdict, err := rules.Validate(t.Context(), requestFor(claim("new"), nil))
	if err != nil || len(verdict.Warnings) != 1 || !strings.Contains(verdict.Warnings[0], "does not exist") {
		t.Errorf("a Server that is gone: %q %v", verdict.Warnings, err)
	}
}

// TestImagesOfAnotherBootProvider: which images it can boot is not ours to say.
func TestImagesOfAnotherBootProvider(t *testing.T) {
	for _, reference := range []string{"", "oci://registry/os:1", "http://files/os.efi", "a b"} {
		for kind, spec := range map[string]string{
			"ServerClaim":             `{power: "On", image: %q}`,
			"ServerBootConfiguration": `{serverRef: {name: s}, image: %q}`,
			"ServerMaintenance":       `{serverRef: {name: s}, serverBootConfigurationTemplate: {name: b, spec: {serverRef: {name: s}, image: %q}}}`,
		} {
			a := newAlone(t)
			a.ForeignBoot = true
			a.Give(t, admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: Server, metadata: {name: s}, spec: {systemUUID: ''}}"))
			outcome := a.Request(t, admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: "+kind+", metadata: {name: o, namespace: ns}, spec: "+fmt.Sprintf(spec, reference)+"}"), nil)
			if len(outcome.Causes)+len(outcome.Warnings) > 0 {
				t.Errorf("%s with image %q: %q %q", kind, reference, outcome.Causes, outcome.Warnings)
			}
		}
	}
}

// TestBMCSettingsThatAreBeingDeleted make room for others, as versions do.
func TestBMCSettingsThatAreBeingDeleted(t *testing.T) {
	a := newAlone(t)
	settings := func(name string) *unstructured.Unstructured {
		return admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: BMCSettings, metadata: {name: "+name+", finalizers: [a/b]}, spec: {version: '1', BMCRef: {name: b}}}")
	}
	old := settings("old")
	a.Give(t, old)
	if outcome := a.Request(t, settings("new"), nil); len(outcome.Causes) != 1 {
		t.Errorf("beside others: %q", outcome.Causes)
	}
	if err := a.store.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if outcome := a.Request(t, settings("new"), nil); len(outcome.Causes) != 0 {
		t.Errorf("after others: %q", outcome.Causes)
	}
}
