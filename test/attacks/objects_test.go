package attacks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

// objectsEach is how many objects of each kind a tenant makes in each way.
const objectsEach = 12

// oddTexts are what people and attackers write where text is expected.
var oddTexts = []string{
	"", "a", "x", "../x", "x/y", "..", "a b", "a\x00b", "a\nb", "{{", "{{ .AdditionalContent.c }}", "#!ipxe\n{{ range", "#!ipxe\n{{ c }}\n", "${next-server}", strings.Repeat("a", 254), "Ä",
	"\u2028", "%2e%2e%2f", "-", "*", "[::1", "127.0.0.1:99999/x", "127.0.0.1/os:1", "null", "{", "[]", "fcos", "default", "kube-system", "a.b", "0",
	"00000000-0000-0000-0000-000000000000", tenantVictimUUID, tenantOtherUUID, "ff:ff:ff:ff:ff:ff", "http://127.0.0.1:1/x", "http://[", "uuid", "mac", "assignment/ipxe-uuid", strings.Repeat("é/", 4000),
}

// oddTimes are what the API server may take for a time.
var oddTimes = []string{
	"2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01T00:00:00+99:99", "2020-01-01T00:00:00x5Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "2020-02-30T00:00:00Z",
}

// oddAnnotations are those that mean something, with any value.
var oddAnnotations = []string{
	metalv1.AnnotationOperation, metalv1.AnnotationBootPolicy, metalv1.AnnotationCleanup, metalv1.AnnotationImagePullSecret, metalv1.AnnotationReinstall, metalv1.AnnotationKernelArgs,
	metalv1.AnnotationClaimedBy, metalv1.AnnotationSecret, "farrier.dev/boot-attempt", ipxev1.AnnotationAllowProfilesFrom,
}

// objectMaker makes objects by walking the schemas, so that it knows every field there will ever be.
type objectMaker struct {
	*rand.Rand
	// past has it write past what schemas say of strings.
	past bool
}

func (m *objectMaker) chance(percent int) bool { return m.IntN(100) < percent }
func (m *objectMaker) text() string            { return oddTexts[m.IntN(len(oddTexts))] }

// object makes an object of a kind. Status is in it, too.
func (m *objectMaker) object(crd *apiextensionsv1.CustomResourceDefinition, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, field := range sortedFields(root.Properties) {
		if slices.Contains([]string{"apiVersion", "kind", "metadata"}, field) {
			continue
		}
		property := root.Properties[field]
		if value, ok := m.value(&property); ok {
			u.Object[field] = value
		}
	}
	u.SetGroupVersionKind(schemaKind(crd))
	u.SetNamespace("mallory")
	u.SetName(name)
	annotations := map[string]string{}
	for range m.IntN(3) {
		annotations[oddAnnotations[m.IntN(len(oddAnnotations))]] = m.text()
	}
	u.SetAnnotations(annotations)
	return u
}

// value makes a value of a schema; none where no text that is known here passes it.
func (m *objectMaker) value(s *apiextensionsv1.JSONSchemaProps) (any, bool) {
	switch {
	case s.XIntOrString:
		return "1Gi", true
	case s.Type == "object":
		return m.fields(s), true
	case s.Type == "array":
		list := []any{}
		for range m.IntN(3) {
			if value, ok := m.value(s.Items.Schema); ok {
				list = append(list, value)
			}
		}
		return list, true
	case s.Type == "string":
		return m.string(s)
	case s.Type == "integer", s.Type == "number":
		bounds := []int64{0, 1, -1, 1<<31 - 1, -1 << 31, 443}
		return bounds[m.IntN(len(bounds))], true
	case s.Type == "boolean":
		return m.chance(50), true
	}
	return nil, false
}

func (m *objectMaker) fields(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	fields := map[string]any{}
	for _, name := range sortedFields(s.Properties) {
		property := s.Properties[name]
		if !slices.Contains(s.Required, name) && m.chance(40) {
			continue
		}
		if value, ok := m.value(&property); ok {
			fields[name] = value
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for range m.IntN(3) {
			if value, ok := m.value(s.AdditionalProperties.Schema); ok {
				fields[m.text()] = value
			}
		}
	}
	return fields
}

func (m *objectMaker) string(s *apiextensionsv1.JSONSchemaProps) (any, bool) {
	switch {
	case s.Format == "date-time" && m.past:
		return oddTimes[0], true // the API server has always looked at times
	case s.Format == "date-time":
		return oddTimes[m.IntN(len(oddTimes))], true
	case s.Format == "byte":
		return "YQ==", true
	case m.past:
		return m.text(), true
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[m.IntN(len(s.Enum))].Raw), `"`), true
	}
	fits := func(text string) bool {
		if s.MaxLength != nil && int64(len(text)) > *s.MaxLength || s.MinLength != nil && int64(len(text)) < *s.MinLength {
			return false
		}
		matched, err := regexp.MatchString(s.Pattern, text)
		return err == nil && matched
	}
	possible := slices.DeleteFunc(slices.Clone(oddTexts), func(text string) bool { return !fits(text) })
	if len(possible) == 0 {
		return nil, false
	}
	return possible[m.IntN(len(possible))], true
}

func sortedFields(properties map[string]apiextensionsv1.JSONSchemaProps) []string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func schemaKind(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind}
}

// objects makes those of every kind that a tenant has.
func (m *objectMaker) objects(t *testing.T, prefix string) []*unstructured.Unstructured {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, crd := range crds {
		if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			continue
		}
		for i := range objectsEach {
			all = append(all, m.object(crd, fmt.Sprintf("%s-%s-%d", prefix, crd.Spec.Names.Singular, i)))
		}
	}
	return all
}

// storeObject creates an object with its status, and says what became of it.
func storeObject(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	status, has := u.Object["status"]
	u = u.DeepCopy()
	if err := c.Create(ctx, u); err != nil {
		return err
	}
	if !has {
		return nil
	}
	patch := u.DeepCopy()
	patch.Object["status"] = status
	err := c.Status().Patch(ctx, patch, client.MergeFrom(u))
	return client.IgnoreNotFound(err)
}

// TestNoObjectOfATenantStopsAnybody: whatever a tenant can store, and could before names were judged, leaves every other machine to
// boot: at once, after a restart, and anew.
func TestNoObjectOfATenantStopsAnybody(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	l.Discover(p)
	claim, _, machine := l.Runs(p, "victim")
	tenantAssigns(t, p, "default", "assigned", 0, tenantVictimUUID)
	if err := p.Create(t.Context(), tenantHand("default", "hand", tenantOtherUUID)); err != nil {
		t.Fatal(err)
	}
	tenantNamespace(t, p, "mallory")
	everybodyBoots := func() {
		t.Helper()
		tenantScript(t, p.Boot, "/ipxe?uuid="+tenantVictimUUID, "script-of-assigned")
		tenantScript(t, p.Boot, "/ipxe/"+tenantOtherUUID, "127.0.0.1/hand")
		machineScript(t, p, machine)
	}
	stored := 0
	for _, u := range (&objectMaker{Rand: rand.New(rand.NewPCG(11, 4))}).objects(t, "new") {
		switch err := storeObject(t.Context(), p, u); {
		case err == nil:
			stored++
		case apierrors.IsInvalid(err), apierrors.IsConflict(err):
		default:
			t.Errorf("%s %s is neither stored nor found invalid: %v", u.GetKind(), u.GetName(), err)
		}
	}
	t.Logf("%d objects that pass the schemas are stored", stored)
	everybodyBoots()
	p.Stop()

	past := (&objectMaker{Rand: rand.New(rand.NewPCG(8, 4)), past: true}).objects(t, "old")
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mallory"}}}
	for _, u := range past {
		objects = append(objects, u)
	}
	tenantPast(t, l.DataDir, objects...)
	p = l.Up(t)
	everybodyBoots()

	// What is written now is heard, and a machine boots anew.
	tenantAssigns(t, p, "default", "later", 0, tenantThirdUUID)
	tenantScript(t, p.Boot, "/ipxe?uuid="+tenantThirdUUID, "script-of-later")
	before := len(machine.Record())
	for _, power := range []metalv1.Power{metalv1.PowerOff, metalv1.PowerOn} {
		tenantChange(t, p, claim, func() { claim.Spec.Power = power })
		if power == metalv1.PowerOff {
			product.Eventually(t, "the machine is off", func(ctx context.Context) error {
				var s metalv1.Server
				if err := p.Get(ctx, client.ObjectKey{Name: claim.Spec.ServerRef.Name}, &s); err != nil {
					return err
				}
				if s.Status.PowerState != metalv1.PowerStateOff {
					return fmt.Errorf("it is %s", s.Status.PowerState)
				}
				return nil
			})
		}
	}
	product.Eventually(t, "the machine boots anew", func(context.Context) error {
		if records := machine.Record(); len(records) <= before || records[len(records)-1].Outcome != sim.OutcomeInstalled {
			return fmt.Errorf("%d boots, %d before", len(records), before)
		}
		return nil
	})
}

// TestATenantsTimeStopsNoKind: a time that the API server reads and a client does not would keep all objects of its kind from
// everybody.
func TestATenantsTimeStopsNoKind(t *testing.T) {
	p := shared.For(t)
	tenantNamespace(t, p, "poisoner")
	poison := tenantAssigns(t, p, "poisoner", "poison", 0, "bbbbbbbb-0000-4000-8000-ffffffffffff")
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ipxev1.GroupVersion.WithKind("Assignment"))
	for i, time := range oddTimes[1:] {
		product.Eventually(t, "write status", func(ctx context.Context) error {
			if err := p.Get(ctx, client.ObjectKeyFromObject(poison), u); err != nil {
				return err
			}
			u.Object["status"] = map[string]any{"conditions": []any{map[string]any{
				"type": "Poison", "status": "True", "reason": "Poison", "message": "", "lastTransitionTime": time,
			}}}
			if err := p.Status().Update(ctx, u); err != nil && !apierrors.IsInvalid(err) {
				return err
			}
			return nil
		})
		name, uuid := fmt.Sprintf("assigned-%d", i), fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", i)
		tenantAssigns(t, p, "default", name, 0, uuid)
		tenantScript(t, p.Boot, "/ipxe?uuid="+uuid, "script-of-"+name)
	}
}
