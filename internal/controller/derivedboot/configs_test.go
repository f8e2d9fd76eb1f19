package derivedboot

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

var key = types.NamespacedName{Namespace: "farrier-system", Name: "s"}

func internal() *metalv1.ServerBootConfiguration {
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: "u", Annotations: map[string]string{metalv1.AnnotationType: metalv1.TypeInternal},
	}}
	c.Spec.ServerRef.Name, c.Spec.Image = "s", "registry/probe:1"
	return c
}

func kernel(url string) map[string]func(bootmethod.Object) {
	return map[string]func(bootmethod.Object){bootmethod.IPXE.Kind: func(o bootmethod.Object) {
		spec := &o.(*bootv1.IPXEBootConfig).Spec
		spec.KernelURL, spec.IgnitionSecretRef = url, &bootv1.LocalObjectReference{Name: "s-ssh"}
	}}
}

// told are the kinds that are to be rendered since the last time.
type told struct {
	*Configs
	planned  []string
	rendered int
}

func newTold() *told {
	c := &told{Configs: &Configs{Namespace: key.Namespace}}
	c.Planned = func(kind string, at types.NamespacedName) { c.planned = append(c.planned, kind) }
	c.Rendered = func(types.NamespacedName) { c.rendered++ }
	return c
}

func (c *told) plans(t *testing.T, what string, want ...string) {
	t.Helper()
	if slices.Sort(c.planned); !slices.Equal(c.planned, want) {
		t.Errorf("%s: to be rendered are %v, want %v", what, c.planned, want)
	}
	c.planned = nil
}

// TestWhatIsDerived: nothing that people write, and nothing of a claim.
func TestWhatIsDerived(t *testing.T) {
	c := &Configs{Namespace: key.Namespace}
	for name, change := range map[string]func(*metalv1.ServerBootConfiguration){
		"another namespace":         func(o *metalv1.ServerBootConfiguration) { o.Namespace = "tenants" },
		"not internal":              func(o *metalv1.ServerBootConfiguration) { o.Annotations = nil },
		"not named like its Server": func(o *metalv1.ServerBootConfiguration) { o.Spec.ServerRef.Name = "other" },
	} {
		config := internal()
		if change(config); c.Covers(config) {
			t.Errorf("%s: it is derived", name)
		}
	}
	if !c.Covers(internal()) || c.Covers(nil) || (*Configs)(nil).Covers(internal()) {
		t.Error("an internal boot is derived, unless none is")
	}
	if _, made := (*Configs)(nil).Get(bootmethod.IPXE.Kind, key); made || len((*Configs)(nil).Naming(bootmethod.IPXE.Kind, key)) > 0 {
		t.Error("something is derived where nothing is")
	}
	(*Configs)(nil).Drop(key)
}

func TestWhatIsPlannedIsRenderedOnce(t *testing.T) {
	c, config := newTold(), internal()
	if c.Looked(config) {
		t.Error("it was looked at before anybody has")
	}
	c.Look(config)
	c.plans(t, "looked at", "HTTPBootConfig", "IPXEBootConfig")
	if _, settled := c.Settled(config); settled || !c.Looked(config) {
		t.Error("nothing is known of it yet")
	}
	image := Image{Reference: "registry/probe:1", Plan: registry.Plan{Digest: "sha256:1"}}
	c.Plan(config, image, kernel("http://a"))
	c.plans(t, "planned", "IPXEBootConfig")
	c.Plan(config, image, kernel("http://a"))
	c.plans(t, "planned again")
	c.Look(config)
	c.plans(t, "looked at again")

	obj, made := c.Get(bootmethod.IPXE.Kind, key)
	if !made || obj.GetGeneration() != 1 || !metav1.IsControlledBy(obj, config) || obj.GetNamespace() != key.Namespace || obj.GetName() != key.Name {
		t.Fatalf("made is %v", obj)
	}
	if got := c.Naming(bootmethod.IPXE.Kind, types.NamespacedName{Namespace: key.Namespace, Name: "s-ssh"}); !slices.Equal(got, []types.NamespacedName{key}) {
		t.Errorf("who refers to the Secret: %v", got)
	}
	report := func(obj bootmethod.Object) bool {
		its := bootmethod.ConfigOf(obj)
		*its.State, *its.ObservedGeneration = bootmethod.StateReady, obj.GetGeneration()
		return c.Report(bootmethod.IPXE, obj)
	}
	if !report(obj) || report(obj) || c.rendered != 1 {
		t.Errorf("rendered first, and told %d times", c.rendered)
	}
	if got, settled := c.Settled(config); !settled || got.Plan.Digest != "sha256:1" {
		t.Errorf("settled %v: %+v", settled, got)
	}

	c.Plan(config, image, kernel("http://b"))
	c.plans(t, "planned anew", "IPXEBootConfig")
	if report(obj) {
		t.Error("the report about what was planned before counts")
	}
	if _, settled := c.Settled(config); settled {
		t.Error("what was planned anew counts as rendered")
	}
	c.Plan(config, image, nil)
	c.plans(t, "another image, which that method does not boot", "IPXEBootConfig")
}

// TestABootConfigurationOfTheSameNameIsAnother: each attempt of the probe has its own.
func TestABootConfigurationOfTheSameNameIsAnother(t *testing.T) {
	c, config := newTold(), internal()
	c.Plan(config, Image{}, kernel("http://a"))
	c.plans(t, "planned", "HTTPBootConfig", "IPXEBootConfig")
	next := internal()
	next.UID = "v"
	if c.Looked(next) {
		t.Error("what was derived of one is known of the other")
	}
	c.Plan(next, Image{}, kernel("http://a"))
	c.plans(t, "the next", "HTTPBootConfig", "IPXEBootConfig")
	if obj, _ := c.Get(bootmethod.IPXE.Kind, key); !metav1.IsControlledBy(obj, next) {
		t.Error("it is still the one before's")
	}
	c.Drop(key)
	c.plans(t, "dropped", "IPXEBootConfig")
	if _, made := c.Get(bootmethod.IPXE.Kind, key); made {
		t.Error("it is still there")
	}
	c.Drop(key)
	c.plans(t, "dropped again")
}
