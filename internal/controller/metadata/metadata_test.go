package metadata

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
)

func claimed() *metalv1.Server {
	return &metalv1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "rack-1",
			Annotations: map[string]string{metalv1.AnnotationClaimedBy: "u1", metalv1.MetadataPrefix + "rack": "7", metalv1.MetadataPrefix + "site": "x"},
			Labels:      map[string]string{metalv1.MetadataPrefix + "site": "berlin", "other": "label", metalv1.LabelSite: "berlin"},
		},
		Spec:   metalv1.ServerSpec{ServerClaimRef: &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "web"}},
		Status: metalv1.ServerStatus{NetworkInterfaces: []metalv1.NetworkInterface{{IP: "10.0.0.5", IPs: []string{"10.0.0.5", "fd00::5"}}}},
	}
}

func claim(uid string) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	c.UID = "u1"
	if uid != "" {
		c.UID = "u2"
	}
	c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: "rack-1"}
	c.Spec.UserDataRef = &metalv1.LocalObjectReference{Name: "user"}
	return c
}

func secret(of corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "user"}, Type: of, Data: map[string][]byte{"k": []byte("v")}}
}

func TestReconcile(t *testing.T) {
	fields := map[string]string{"dc": "1", "rack": "7", "site": "berlin", FieldServerName: "rack-1"}
	sites, err := booturl.Parse([]string{"http://10.0.0.1:8082", "berlin=http://10.1.0.1:8082"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		objects  []client.Object
		userData map[string][]byte
	}{
		{name: "with user data", objects: []client.Object{claim(""), secret(metalv1.UserDataSecretType)}, userData: map[string][]byte{"k": []byte("v")}},
		{name: "a Secret of another type", objects: []client.Object{claim(""), secret(corev1.SecretTypeOpaque)}},
		{name: "no Secret", objects: []client.Object{claim("")}},
		{name: "a claim of the old name", objects: []client.Object{claim("another"), secret(metalv1.UserDataSecretType)}},
		{name: "no claim", objects: []client.Object{secret(metalv1.UserDataSecretType)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := controllertest.NewAPI(t, append(c.objects, claimed())...)
			r := &Reconciler{Client: api, APIReader: api, Instances: &bootview.Instances{}, Sites: sites, Static: map[string]string{"dc": "1", "rack": "static"}}
			request := reconcile.Request{NamespacedName: client.ObjectKey{Name: "rack-1"}}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			r.Instances.SetSynced(true)
			got, status := r.Instances.ByIP(netip.MustParseAddr("fd00::5"))
			if status != bootview.Found {
				t.Fatal(status)
			}
			if diff := cmp.Diff(fields, got.Fields); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.userData, got.UserData); diff != "" {
				t.Error(diff)
			}
			if want := newest(t, api, c.objects); got.Version != want || want == 0 || got.Site != "berlin" {
				t.Errorf("version %d at %q, want %d at berlin", got.Version, got.Site, want)
			}
			if err := api.Delete(t.Context(), claimed()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if _, status := r.Instances.ByIP(netip.MustParseAddr("10.0.0.5")); status != bootview.Unknown {
				t.Errorf("after its Server is gone: %v", status)
			}
		})
	}
}

func TestReadStatic(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"dc: ber1\nowner: \"7\"\n", ""},
		{"a/b: c", "a/b"},
		{"user-data: c", "user-data"},
		{"- list", "static"},
		{"a: b\na: c", "static"},
		{strings.Repeat("#", maxStatic+1), "larger"},
	} {
		file := filepath.Join(t.TempDir(), "static.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadStatic(file)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.20q: error %v, want one about %q", c.text, err, c.err)
		}
	}
}

// newest is the version of the newest object that the instance is made of: of the Server and its claim, and of the Secret where the claim is the
// Server's.
func newest(t *testing.T, api client.Client, objects []client.Object) uint64 {
	t.Helper()
	all := []metav1.Object{}
	for _, object := range append([]client.Object{claimed()}, objects...) {
		if _, isSecret := object.(*corev1.Secret); isSecret && (len(objects) == 1 || objects[0].GetUID() != "u1") {
			continue // nobody's
		}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return objectversion.Newest(all...)
}
