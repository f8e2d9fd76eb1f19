package derivedboot

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// Configs are the boot configs of all internal boots. A nil *Configs covers none: every boot config is an object then. It is safe for concurrent use.
type Configs struct {
	// Namespace is the manager's, where internal boot configurations are.
	Namespace string
	// Named is what a reference names now for the machine of a Server, where that is known and the machine can boot it. Package bootconfig sets it.
	Named func(server *metalv1.Server, reference string) (Image, bool)
	// Planned is told of a boot config that is to be rendered, or is gone; Rendered of a boot configuration of which a boot config reports something
	// new; Described of a Server of whose boot configuration there is something else to say. All are set before the first boot, and must not block.
	Planned   func(kind string, key types.NamespacedName)
	Rendered  func(key types.NamespacedName)
	Described func(server string)

	mu    sync.Mutex
	boots map[types.NamespacedName]*boot
}

// boot is what was derived from one boot configuration.
type boot struct {
	uid   types.UID
	image Image
	made  map[string]bootmethod.Object // by kind; never changed
	// unsaid is the status of the boot configuration for as long as that which is stored is silent; nil: it is not, or nothing is known. Never changed.
	unsaid *metalv1.ServerBootConfigurationStatus
}

// Covers reports whether the boot configs of a boot configuration are derived and not stored. Of what people write in the manager's namespace
// nothing is.
func (c *Configs) Covers(config *metalv1.ServerBootConfiguration) bool {
	return c != nil && config != nil && config.Namespace == c.Namespace && config.Name == config.Spec.ServerRef.Name &&
		config.Annotations[metalv1.AnnotationType] == metalv1.TypeInternal
}

// Now is what a reference names now for the machine of a Server; false: that is not known, or no boot config is derived.
func (c *Configs) Now(server *metalv1.Server, reference string) (Image, bool) {
	if c == nil || c.Named == nil {
		return Image{}, false
	}
	return c.Named(server, reference)
}

// Look notes that a boot configuration was looked at, whose boot configs are not known yet.
func (c *Configs) Look(config *metalv1.ServerBootConfiguration) {
	c.plan(config, nil, nil)
}

// Plan makes the boot configs of a boot configuration: those of the kinds in want, whose functions write their specs, and no others.
func (c *Configs) Plan(config *metalv1.ServerBootConfiguration, image Image, want map[string]func(bootmethod.Object)) {
	c.plan(config, &image, want)
}

func (c *Configs) plan(config *metalv1.ServerBootConfiguration, image *Image, want map[string]func(bootmethod.Object)) {
	key := client.ObjectKeyFromObject(config)
	c.mu.Lock()
	b, known := c.boots[key]
	if !known || b.uid != config.UID {
		b, known = &boot{uid: config.UID, made: map[string]bootmethod.Object{}}, false
		if c.boots == nil {
			c.boots = map[types.NamespacedName]*boot{}
		}
		c.boots[key] = b
	}
	var changed []string
	for _, m := range bootmethod.Methods {
		if image != nil && b.set(config, m, want[m.Kind]) || !known {
			changed = append(changed, m.Kind)
		}
	}
	if image != nil {
		b.image = *image
	}
	c.mu.Unlock()
	c.tell(key, changed)
}

// set reports whether the boot config of a method is another one now.
func (b *boot) set(config *metalv1.ServerBootConfiguration, m bootmethod.Method, want func(bootmethod.Object)) bool {
	have := b.made[m.Kind]
	if want == nil {
		delete(b.made, m.Kind)
		return have != nil
	}
	next := m.New()
	if have != nil {
		next = copied(have)
	}
	want(next)
	if have != nil && equality.Semantic.DeepEqual(have, next) {
		return false
	}
	next.SetNamespace(config.Namespace)
	next.SetName(config.Name)
	next.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(config, metalv1.GroupVersion.WithKind("ServerBootConfiguration"))})
	next.SetGeneration(next.GetGeneration() + 1)
	b.made[m.Kind] = next
	return true
}

// Drop forgets the boot configs of a boot configuration that is gone.
func (c *Configs) Drop(key types.NamespacedName) {
	if c == nil {
		return
	}
	c.mu.Lock()
	b := c.boots[key]
	delete(c.boots, key)
	c.mu.Unlock()
	if b == nil {
		return
	}
	var gone []string
	for kind := range b.made {
		gone = append(gone, kind)
	}
	c.tell(key, gone)
}

func (c *Configs) tell(key types.NamespacedName, kinds []string) {
	for _, kind := range kinds {
		if c.Planned != nil {
			c.Planned(kind, key)
		}
	}
}

// Get is a copy of a boot config that was derived.
func (c *Configs) Get(kind string, key types.NamespacedName) (bootmethod.Object, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boots[key]; b != nil && b.made[kind] != nil {
		return copied(b.made[kind]), true
	}
	return nil, false
}

// Naming are the boot configs of a kind that refer to a Secret.
func (c *Configs) Naming(kind string, secret types.NamespacedName) (found []types.NamespacedName) {
	if c == nil || secret.Namespace != c.Namespace {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, b := range c.boots {
		if made := b.made[kind]; made != nil && slices.Contains(bootmethod.ConfigOf(made).Secrets(), secret.Name) {
			found = append(found, key)
		}
	}
	return found
}

// Looked reports whether a boot configuration was looked at: what there is of its boot configs is known.
func (c *Configs) Looked(config *metalv1.ServerBootConfiguration) bool {
	return c.of(config) != nil
}

// Settled reports whether the boot configs of a boot configuration are known and rendered, and which image they boot.
func (c *Configs) Settled(config *metalv1.ServerBootConfiguration) (Image, bool) {
	b := c.of(config)
	if b == nil {
		return Image{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, made := range b.made {
		if !IsRendered(made) {
			return Image{}, false
		}
	}
	return b.image, len(b.made) > 0
}

func (c *Configs) of(config *metalv1.ServerBootConfiguration) *boot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boots[client.ObjectKeyFromObject(config)]; b != nil && b.uid == config.UID {
		return b
	}
	return nil
}

// IsRendered reports whether the status of a boot config is about its spec.
func IsRendered(obj bootmethod.Object) bool {
	its := bootmethod.ConfigOf(obj)
	return *its.State != "" && *its.ObservedGeneration == obj.GetGeneration()
}

// Report keeps the status of a boot config that was rendered, and reports whether it was not rendered before. One that was planned anew since is
// rendered again.
func (c *Configs) Report(m bootmethod.Method, obj bootmethod.Object) (first bool) {
	key := client.ObjectKeyFromObject(obj)
	c.mu.Lock()
	b := c.boots[key]
	if b == nil || b.made[m.Kind] == nil || b.made[m.Kind].GetGeneration() != obj.GetGeneration() || !metav1.IsControlledBy(obj, &metav1.ObjectMeta{UID: b.uid}) {
		c.mu.Unlock()
		return false
	}
	first = !IsRendered(b.made[m.Kind]) && IsRendered(obj)
	news := !equality.Semantic.DeepEqual(b.made[m.Kind], obj)
	if news {
		b.made[m.Kind] = copied(obj)
	}
	c.mu.Unlock()
	if news && c.Rendered != nil {
		c.Rendered(key)
	}
	return first
}

func copied(obj bootmethod.Object) bootmethod.Object { return obj.DeepCopyObject().(bootmethod.Object) }
