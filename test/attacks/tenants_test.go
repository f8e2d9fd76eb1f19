package attacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

const (
	tenantVictimUUID = "aaaaaaaa-0000-4000-8000-000000000001"
	tenantOtherUUID  = "aaaaaaaa-0000-4000-8000-000000000002"
	tenantThirdUUID  = "aaaaaaaa-0000-4000-8000-000000000003"
)

// tenantGet asks the boot server, and returns status and body.
func tenantGet(ctx context.Context, boot, path string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, boot+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(body), err
}

// tenantScript waits until a path is answered with a script that has a word in it.
func tenantScript(t *testing.T, boot, path, word string) {
	t.Helper()
	product.Eventually(t, "GET "+path, func(ctx context.Context) error {
		status, body, err := tenantGet(ctx, boot, path)
		if err == nil && (status != http.StatusOK || !strings.Contains(body, word)) {
			err = fmt.Errorf("status %d, want a script with %q: %.300s", status, word, body)
		}
		return err
	})
}

// machineScript waits until a machine of the lab is given the script of its claim.
func machineScript(t *testing.T, p *lab.Running, m *sim.Machine) {
	t.Helper()
	itself := newStranger(t, p, m.IP().String())
	product.Eventually(t, "the machine's script", func(ctx context.Context) error {
		if status, body := itself.asks(ctx, http.MethodGet, "/ipxe/"+m.UUID(), ""); status != http.StatusOK || !strings.Contains(body, "kernel") {
			return fmt.Errorf("status %d: %.300s", status, body)
		}
		return nil
	})
}

func tenantNamespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// tenantAssigns makes a Profile whose script says its own name, and an Assignment of the same name.
func tenantAssigns(t *testing.T, c client.Client, namespace, name string, priority int32, uuids ...string) *ipxev1.Assignment {
	t.Helper()
	p := &ipxev1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\necho script-of-" + name + "\n"}}
	a := &ipxev1.Assignment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: ipxev1.AssignmentSpec{ProfileName: name, Priority: priority}}
	if len(uuids) > 0 {
		a.Spec.SubjectSelectors = map[string][]string{"uuid": uuids}
	}
	for _, obj := range []client.Object{p, a} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// tenantSays waits for a condition of an Assignment, and returns its message.
func tenantSays(t *testing.T, c client.Client, a *ipxev1.Assignment, kind string, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	var message string
	product.Eventually(t, kind+" of "+a.Name, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		found := apimeta.FindStatusCondition(a.Status.Conditions, kind)
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("want %s because %s, has%s", status, reason, lab.ConditionsText(a.Status.Conditions))
		}
		message = found.Message
		return nil
	})
	return message
}

// tenantHand makes a boot config written by hand.
func tenantHand(namespace, name, uuid string) *bootv1.IPXEBootConfig {
	return &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: bootv1.IPXEBootConfigSpec{
		SystemUUID: uuid, KernelURL: "http://127.0.0.1/" + name, InitrdURL: "http://127.0.0.1/initrd",
	}}
}

// tenantPast stores objects on a stopped product's data directory that its schemas and rules would refuse, as a version before them
// would have: names in the schemas have no form, and nothing else judges.
func tenantPast(t *testing.T, dataDir string, objects ...client.Object) {
	t.Helper()
	process := testapi.Launch(t, "--data-dir", dataDir).MustBeReady(t)
	c, err := client.New(process.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crds := &unstructured.UnstructuredList{}
	crds.SetAPIVersion("apiextensions.k8s.io/v1")
	crds.SetKind("CustomResourceDefinitionList")
	if err := c.List(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	for i := range crds.Items {
		tenantLoosen(crds.Items[i].Object)
		if err := c.Update(t.Context(), &crds.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, obj := range objects {
		product.Eventually(t, "store "+obj.GetName(), func(ctx context.Context) error { // definitions are taken up a moment later
			return client.IgnoreAlreadyExists(c.Create(ctx, obj))
		})
	}
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
}

// tenantLoosen takes out of a definition what it says of the form of strings. What decides which type a value has stays.
func tenantLoosen(node any) {
	switch n := node.(type) {
	case map[string]any:
		if n["type"] == "string" {
			for _, rule := range []string{"pattern", "maxLength", "minLength", "enum", "x-kubernetes-validations"} {
				delete(n, rule)
			}
		}
		delete(n, "x-kubernetes-validations")
		for _, child := range n {
			tenantLoosen(child)
		}
	case []any:
		for _, child := range n {
			tenantLoosen(child)
		}
	}
}

// tenantObject makes an object without a type of its own, of which any value can be anything.
func tenantObject(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	group := metalv1.GroupVersion
	switch kind {
	case "Profile", "Assignment":
		group = ipxev1.GroupVersion
	case "IPXEBootConfig", "HTTPBootConfig":
		group = bootv1.GroupVersion
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(group.WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// TestATenantsImpossibleNamesAreInvalid: a reference to what nobody can make is refused at its field, and never taken for a
// failure of the service.
func TestATenantsImpossibleNamesAreInvalid(t *testing.T) {
	p := shared.For(t)
	content := func(kind string, ref map[string]any) map[string]any {
		return map[string]any{"ipxe": "#!ipxe\n", "additionalContent": []any{map[string]any{"name": "c", "exposed": true, kind: ref}}}
	}
	pull := tenantObject("ServerClaim", "default", "pull", map[string]any{"power": "Off", "image": "127.0.0.1/os:1"})
	pull.SetAnnotations(map[string]string{metalv1.AnnotationImagePullSecret: "x/y"})
	for field, object := range map[string]*unstructured.Unstructured{
		"spec.additionalContent[0].secretRef.name":                        tenantObject("Profile", "default", "a", content("secretRef", map[string]any{"name": "../x", "key": "k"})),
		"spec.additionalContent[0].configMapRef.name":                     tenantObject("Profile", "default", "b", content("configMapRef", map[string]any{"name": "A b", "key": "k"})),
		"spec.additionalContent[0].secretRef.namespace":                   tenantObject("Profile", "default", "c", content("secretRef", map[string]any{"name": "x", "namespace": "../..", "key": "k"})),
		"spec.profileName":                                                tenantObject("Assignment", "default", "d", map[string]any{"profileName": "x/y"}),
		"spec.ignitionSecretRef.name":                                     tenantObject("ServerClaim", "default", "e", map[string]any{"power": "Off", "image": "127.0.0.1/os:1", "ignitionSecretRef": map[string]any{"name": "x/y"}}),
		"spec.serverRef.name":                                             tenantObject("ServerClaim", "default", "f", map[string]any{"power": "Off", "image": "127.0.0.1/os:1", "serverRef": map[string]any{"name": "x\ny"}}),
		"spec.userDataRef.name":                                           tenantObject("ServerClaim", "default", "g", map[string]any{"power": "Off", "image": "127.0.0.1/os:1", "userDataRef": map[string]any{"name": ".."}}),
		"spec.ipxeScriptSecretRef.name":                                   tenantObject("IPXEBootConfig", "default", "h", map[string]any{"ipxeScriptSecretRef": map[string]any{"name": strings.Repeat("a", 254)}}),
		"metadata.annotations[" + metalv1.AnnotationImagePullSecret + "]": pull,
	} {
		err := p.Create(t.Context(), object)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: want it found invalid there, got %v", field, err)
		}
	}
}

// TestATenantsImpossibleNamesStopNobody: objects from before names were judged are what they are, and every other machine boots, also
// after a restart.
func TestATenantsImpossibleNamesStopNobody(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	l.Discover(p)
	_, _, machine := l.Runs(p, "victim")
	tenantAssigns(t, p, "default", "assigned", 0, tenantVictimUUID)
	if err := p.Create(t.Context(), tenantHand("default", "hand", tenantOtherUUID)); err != nil {
		t.Fatal(err)
	}
	everybodyBoots := func(p *lab.Running) {
		t.Helper()
		tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-assigned")
		tenantScript(t, p.Boot, "/ipxe/"+tenantOtherUUID, "127.0.0.1/hand")
		machineScript(t, p, machine)
	}
	everybodyBoots(p)
	p.Stop()

	tenantPast(t, l.DataDir,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mallory"}},
		tenantObject("Profile", "mallory", "p", map[string]any{"ipxe": "#!ipxe\n", "additionalContent": []any{
			map[string]any{"name": "c", "secretRef": map[string]any{"name": "../x", "key": "k"}},
			map[string]any{"name": "d", "configMapRef": map[string]any{"name": "x/y", "namespace": "../..", "key": "k"}},
		}}),
		tenantObject("Assignment", "mallory", "a", map[string]any{"profileName": "../x", "subjectSelector": map[string]any{"uuid": tenantThirdUUID}}),
		tenantObject("ServerClaim", "mallory", "c", map[string]any{"power": "On", "image": "127.0.0.1/os:1", "ignitionSecretRef": map[string]any{"name": "x/y"}, "userDataRef": map[string]any{"name": "../x"}}),
		tenantObject("ServerBootConfiguration", "mallory", "b", map[string]any{"serverRef": map[string]any{"name": "../x"}, "image": "127.0.0.1/os:1", "ignitionSecretRef": map[string]any{"name": "x/y"}}),
		tenantObject("IPXEBootConfig", "mallory", "i", map[string]any{"systemUUID": tenantThirdUUID, "kernelURL": "http://127.0.0.1/k", "initrdURL": "http://127.0.0.1/i", "ignitionSecretRef": map[string]any{"name": "x/y"}}),
		tenantObject("HTTPBootConfig", "mallory", "h", map[string]any{"ukiURL": "http://127.0.0.1/k", "ignitionSecretRef": map[string]any{"name": "%2e%2e"}}),
	)
	p = l.Up(t)
	everybodyBoots(p)
	var broken ipxev1.Profile
	broken.Namespace, broken.Name = "mallory", "p"
	if message := p.Says(&broken, func() []metav1.Condition { return broken.Status.Conditions }, ipxev1.ConditionReady, "InvalidName"); !strings.Contains(message, `"../x"`) {
		t.Errorf("the Profile says %q", message)
	}
	var hand bootv1.IPXEBootConfig
	hand.Namespace, hand.Name = "mallory", "i"
	if message := p.Says(&hand, func() []metav1.Condition { return hand.Status.Conditions }, "Ready", "InvalidName"); !strings.Contains(message, "spec.ignitionSecretRef") {
		t.Errorf("the boot config says %q", message)
	}
}

// TestATenantsNumberBuysNoMachine: where all namespaces count, a priority is a matter of one's own namespace, and who loses is told.
func TestATenantsNumberBuysNoMachine(t *testing.T) {
	p := lab.Beside(t, shared)
	tenantNamespace(t, p, "victim")
	victim := tenantAssigns(t, p, "victim", "mine", 0, tenantVictimUUID)
	tenantSays(t, p, victim, ipxev1.ConditionProgrammed, metav1.ConditionTrue, "Programmed")
	product.Eventually(t, "a later second", func(ctx context.Context) error { // namespaces are told apart by whole seconds
		tenantNamespace(t, p, "mallory")
		var first, second corev1.Namespace
		if err := p.Get(ctx, client.ObjectKey{Name: "victim"}, &first); err != nil {
			return err
		}
		if err := p.Get(ctx, client.ObjectKey{Name: "mallory"}, &second); err != nil {
			return err
		}
		if !first.CreationTimestamp.Before(&second.CreationTimestamp) {
			return fmt.Errorf("both are of %s; %w", first.CreationTimestamp, tenantDrop(ctx, p, "mallory"))
		}
		return nil
	})
	thief := tenantAssigns(t, p, "mallory", "theirs", 1<<31-1, tenantVictimUUID, tenantThirdUUID)
	message := tenantSays(t, p, thief, ipxev1.ConditionOverridden, metav1.ConditionTrue, ipxev1.ReasonAssignment)
	if !strings.Contains(message, "uuid "+tenantVictimUUID+": Assignment victim/mine decides") || strings.Contains(message, tenantThirdUUID) {
		t.Errorf("the loser of one machine is told %q", message)
	}
	tenantSays(t, p, thief, ipxev1.ConditionProgrammed, metav1.ConditionTrue, "Programmed")
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-mine")
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantThirdUUID, "script-of-theirs")

	tenantChange(t, p, thief, func() { thief.Spec.SubjectSelectors = map[string][]string{"uuid": {tenantVictimUUID}} })
	if message := tenantSays(t, p, thief, ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden); !strings.Contains(message, "victim/mine") {
		t.Errorf("the loser is told %q", message)
	}
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-mine")

	// A boot config written by hand for somebody else's machine is neither served nor in its way.
	if err := p.Create(t.Context(), tenantHand("victim", "hand", tenantOtherUUID)); err != nil {
		t.Fatal(err)
	}
	tenantScript(t, p.Boot, "/ipxe/"+tenantOtherUUID, "127.0.0.1/hand")
	stolen := tenantHand("mallory", "stolen", tenantOtherUUID)
	if err := p.Create(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	p.Says(stolen, func() []metav1.Condition { return stolen.Status.Conditions }, "Ready", ipxev1.ReasonOverridden)
	tenantScript(t, p.Boot, "/ipxe/"+tenantOtherUUID, "127.0.0.1/hand")

	// What the operator grants by name comes before who came first.
	tenantGrant(t, p, "mallory", "uuid:"+tenantVictimUUID)
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-theirs")
	if message := tenantSays(t, p, victim, ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden); !strings.Contains(message, "mallory/theirs") {
		t.Errorf("the victim of a grant is told %q", message)
	}
}

func tenantDrop(ctx context.Context, p *lab.Running, name string) error {
	return client.IgnoreNotFound(p.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func tenantChange(t *testing.T, p *lab.Running, obj client.Object, change func()) {
	t.Helper()
	product.Eventually(t, "change "+obj.GetName(), func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change()
		return p.Update(ctx, obj)
	})
}

// tenantGrant grants machines to a namespace.
func tenantGrant(t *testing.T, p *lab.Running, namespace, grant string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	tenantChange(t, p, ns, func() { ns.Annotations = map[string]string{ipxev1.AnnotationBootIdentities: grant} })
}

// TestATenantSpeaksForWhatIsGranted: outside the operator's namespaces nothing counts but what was granted, and what was granted
// comes after the operator's word.
func TestATenantSpeaksForWhatIsGranted(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t, "--boot-namespaces", "default", "--no-assignment", "404")
	operator := tenantAssigns(t, p, "default", "operators", 0, tenantVictimUUID)
	tenantNamespace(t, p, "mallory")
	tenantGrant(t, p, "mallory", "uuid:"+tenantThirdUUID)
	thief := tenantAssigns(t, p, "mallory", "theirs", 1<<31-1, tenantVictimUUID)
	everything := tenantAssigns(t, p, "mallory", "everything", 1<<31-1)
	hand := tenantHand("mallory", "hand", tenantOtherUUID)
	if err := p.Create(t.Context(), hand); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*ipxev1.Assignment{thief, everything} {
		if message := tenantSays(t, p, a, ipxev1.ConditionAccepted, metav1.ConditionFalse, ipxev1.ReasonNotGranted); a == thief && !strings.Contains(message, "uuid:"+tenantVictimUUID) {
			t.Errorf("what is missing is said as %q", message)
		}
		tenantSays(t, p, a, ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonNotGranted)
	}
	if message := p.Says(hand, func() []metav1.Condition { return hand.Status.Conditions }, "Ready", ipxev1.ReasonNotGranted); !strings.Contains(message, tenantOtherUUID) {
		t.Errorf("what is missing is said as %q", message)
	}
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-operators")
	for _, path := range []string{"/ipxe?uuid=" + tenantOtherUUID, "/ipxe/" + tenantOtherUUID} {
		if status, body, err := tenantGet(t.Context(), p.Boot, path); err != nil || status != http.StatusNotFound {
			t.Errorf("%s: status %d, %v: %s", path, status, err, body)
		}
	}
	mine := tenantAssigns(t, p, "mallory", "granted", 0, tenantThirdUUID)
	tenantSays(t, p, mine, ipxev1.ConditionProgrammed, metav1.ConditionTrue, "Programmed")
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantThirdUUID, "script-of-granted")

	// The victim's machine is granted, and the operator's word on it still comes first.
	tenantGrant(t, p, "mallory", "uuid:"+tenantThirdUUID+" uuid:"+tenantVictimUUID+" uuid:"+tenantOtherUUID)
	if message := tenantSays(t, p, thief, ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonOverridden); !strings.Contains(message, "default/operators") {
		t.Errorf("the loser is told %q", message)
	}
	tenantScript(t, p.Boot, "/ipxe/"+tenantOtherUUID, "127.0.0.1/hand")
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-operators")
	tenantSays(t, p, operator, ipxev1.ConditionProgrammed, metav1.ConditionTrue, "Programmed")

	// One entry that cannot be read, and nothing is granted any more.
	tenantGrant(t, p, "mallory", "uuid:"+tenantThirdUUID+" mac:*")
	if message := tenantSays(t, p, mine, ipxev1.ConditionAccepted, metav1.ConditionFalse, ipxev1.ReasonNotGranted); !strings.Contains(message, "entry 2") {
		t.Errorf("a grant that cannot be read is said as %q", message)
	}
	product.Eventually(t, "the machine is nobody's", func(ctx context.Context) error {
		status, body, err := tenantGet(ctx, p.Boot, "/ipxe?uuid="+tenantThirdUUID)
		if err == nil && status != http.StatusNotFound {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	})
}

// TestATenantsServerLendsItsNameToNobody: what is made beside the boot configuration of one's own server speaks for that server,
// whatever machine it names.
func TestATenantsServerLendsItsNameToNobody(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	l.Discover(p)
	_, _, machine := l.Runs(p, "mallory")
	if err := p.Create(t.Context(), tenantHand("default", "hand", tenantVictimUUID)); err != nil {
		t.Fatal(err)
	}
	tenantScript(t, p.Boot, "/ipxe/"+tenantVictimUUID, "127.0.0.1/hand")
	var config metalv1.ServerBootConfiguration
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "mallory"}, &config); err != nil {
		t.Fatal(err)
	}
	forged := tenantHand("default", "forged", tenantVictimUUID)
	yes := true
	forged.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: metalv1.GroupVersion.String(), Kind: "ServerBootConfiguration", Name: config.Name, UID: config.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	if err := p.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	product.Eventually(t, "the forged boot config is looked at", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(forged), forged); err != nil {
			return err
		}
		if forged.Status.State == "" {
			return fmt.Errorf("it says nothing yet")
		}
		return nil
	})
	tenantScript(t, p.Boot, "/ipxe/"+tenantVictimUUID, "127.0.0.1/hand")
	if status, body, err := tenantGet(t.Context(), p.Boot, "/ipxe/"+tenantVictimUUID); err != nil || !strings.Contains(body, "127.0.0.1/hand") {
		t.Errorf("the victim is given %d %q, %v", status, body, err)
	}
	_ = machine
}
