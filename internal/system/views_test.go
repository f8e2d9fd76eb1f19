package system

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestATermFindsItsCachesFull: the caches hold every kind of Farrier from the start, so that no controller of a term waits for one. Of what has
// secrets they hold the metadata.
func TestATermFindsItsCachesFull(t *testing.T) {
	scheme, cached := Scheme(), map[string]client.Object{}
	for _, obj := range cachedKinds() {
		kind, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			t.Fatal(err)
		}
		cached[kind.GroupKind().String()] = obj
	}
	for _, version := range []interface{ String() string }{metalv1.GroupVersion, bootv1.GroupVersion, ipxev1.GroupVersion} {
		for kind, of := range scheme.AllKnownTypes() {
			if kind.GroupVersion().String() != version.String() || strings.HasSuffix(kind.Kind, "List") {
				continue
			}
			if _, object := reflect.New(of).Interface().(client.Object); object && cached[kind.GroupKind().String()] == nil {
				t.Errorf("no cache has %s from the start", kind)
			}
		}
	}
	for _, secret := range []string{"Secret", "BMCSecret.metal.ironcore.dev"} {
		if _, metadata := cached[secret].(*metav1.PartialObjectMetadata); !metadata {
			t.Errorf("the caches hold %T of %s", cached[secret], secret)
		}
	}
}
