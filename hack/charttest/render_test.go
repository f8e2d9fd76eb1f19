package charttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"helm.sh/helm/v3/pkg/chartutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/farrier-dev/farrier/hack/charttest/chart"
)

// chartDir and configDir are what is compared.
const (
	chartDir  = "../../charts/farrier"
	configDir = "../../config"
	namespace = "bare-metal"
)

// An object of Kubernetes.
type object interface {
	runtime.Object
	metav1.Object
}

// plain is a cluster without cert-manager.
var plain = chartutil.VersionSet{"v1", "apps/v1"}

// withCertManager is a cluster that has it; withPrometheus one that has the Prometheus operator, too.
var (
	withCertManager = append(slices.Clone(plain), "cert-manager.io/v1")
	withPrometheus  = append(slices.Clone(withCertManager), "monitoring.coreos.com/v1")
)

// scheme has every type that the chart uses.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, certmanagerv1.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// render renders the chart as `helm install` does, with values as a file of -f has them, and returns its objects and the notes.
func render(has chartutil.VersionSet, values string) (objects []object, notes string, err error) {
	return decoded(chart.Release{Dir: chartDir, Name: "farrier", Namespace: namespace, Has: has}, values)
}

// decoded renders a release and reads its objects strictly.
func decoded(release chart.Release, values string) (objects []object, notes string, err error) {
	documents, notes, err := release.Render(values)
	if err != nil {
		return nil, "", err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, document := range documents {
		o, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			return nil, "", fmt.Errorf("%w\n%s", err, document)
		}
		objects = append(objects, o.(object))
	}
	return objects, notes, nil
}

// rendered is render of what has to work.
func rendered(t *testing.T, has chartutil.VersionSet, values string) []object {
	t.Helper()
	objects, _, err := render(has, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// one returns the object of a type and a name.
func one[T object](t *testing.T, objects []object, name string) (found T) {
	t.Helper()
	for _, o := range objects {
		if typed, ok := o.(T); ok && o.GetName() == name {
			return typed
		}
	}
	t.Fatalf("there is no %T called %s", found, name)
	return found
}

// names are kind and name of all objects, sorted.
func names(objects []object) (all []string) {
	for _, o := range objects {
		all = append(all, o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName())
	}
	slices.Sort(all)
	return all
}

// ofConfig reads the objects of the files of a folder of config/.
func ofConfig(t *testing.T, pattern string) (objects []object) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(configDir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
			decoded, _, err := decoder.Decode([]byte(document), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, decoded.(object))
		}
	}
	return objects
}
