package watchfilter

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/farrier-dev/farrier/api"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Filter says which objects belong to an installation. The zero Filter is that of the installation without one.
type Filter struct{ value string }

// Parse reads the value of --watch-filter. Names of other objects end in it, so it has to be a DNS label.
func Parse(value string) (Filter, error) {
	if value == "" {
		return Filter{}, nil
	}
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return Filter{}, fmt.Errorf("%.80q: %s", value, problems[0])
	}
	return Filter{value}, nil
}

// String is the value of the label.
func (f Filter) String() string { return f.value }

// Covers reports whether an object belongs to the installation.
func (f Filter) Covers(obj metav1.Object) bool {
	value, labelled := obj.GetLabels()[metalv1.LabelWatchFilter]
	return labelled == (f.value != "") && value == f.value
}

// Named is the name of an object of which every installation of a cluster has one. No name of Farrier has a dot, so no filter makes one of another.
func (f Filter) Named(name string) string {
	if f.value == "" {
		return name
	}
	return name + "." + f.value
}

// Labels are those that an object of the installation has for that.
func (f Filter) Labels() map[string]string {
	if f.value == "" {
		return nil
	}
	return map[string]string{metalv1.LabelWatchFilter: f.value}
}

// Mark gives an object to the installation.
func (f Filter) Mark(obj metav1.Object) {
	all := f.Labels()
	if all == nil {
		return
	}
	for key, value := range obj.GetLabels() {
		if key != metalv1.LabelWatchFilter {
			all[key] = value
		}
	}
	obj.SetLabels(all)
}

// Selector selects the objects of the installation. One whose label is empty belongs to nobody.
func (f Filter) Selector() labels.Selector {
	text := fmt.Sprintf("%s=%s", metalv1.LabelWatchFilter, f.value)
	if f.value == "" {
		text = "!" + metalv1.LabelWatchFilter
	}
	selector, err := labels.Parse(text)
	utilruntime.Must(err)
	return selector
}

// Restrict has a cache hold only what belongs to the installation, of every kind of Farrier. It keeps what by says of them otherwise.
func (f Filter) Restrict(by map[client.Object]cache.ByObject) error {
	said := map[schema.GroupVersionKind]client.Object{}
	for obj := range by {
		if kind, err := kindOf(obj); err == nil {
			said[kind] = obj
		}
	}
	for kind, obj := range kinds() {
		if known, ok := said[kind]; ok {
			obj = known
		}
		how := by[obj]
		if how.Label != nil {
			return fmt.Errorf("cache of %s: has a selector of labels already", kind.Kind)
		}
		how.Label = f.Selector()
		by[obj] = how
	}
	return nil
}

// ours is a scheme of Farrier's kinds alone.
var ours = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(api.AddToScheme(scheme))
	return scheme
})

// kinds has an empty object of each kind of Farrier.
func kinds() map[schema.GroupVersionKind]client.Object {
	all := map[schema.GroupVersionKind]client.Object{}
	for kind, of := range ours().AllKnownTypes() {
		if obj, ok := reflect.New(of).Interface().(client.Object); ok {
			all[kind] = obj
		}
	}
	return all
}

// isOurs reports whether an object, or a list, is of a kind of Farrier.
func isOurs(obj runtime.Object) bool {
	kind, err := kindOf(obj)
	return err == nil && ours().IsGroupRegistered(kind.Group)
}

func kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, ours())
}
