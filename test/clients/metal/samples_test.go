package metal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// unquoted are samples that no definition of theirs admits: they say Off or True where it wants text.
var unquoted = map[string]bool{"metal_v1alpha1_servermaintenance.yaml": true, "metal_v1alpha1_serverreadinessrule.yaml": true}

// stale are samples with fields that their definition does not have either.
var stale = map[string]bool{"metal_v1alpha1_bmcuser.yaml": true}

// TestSamples: Farrier admits the manifests that metal-operator ships, and knows each of their fields.
func TestSamples(t *testing.T) {
	f := farrier.Up(t, 1)
	files, err := filepath.Glob(filepath.Join(farrier.Module(t, "github.com/ironcore-dev/metal-operator"), "config/samples/metal_v1alpha1_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			o := objects.Of(t, f)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sample := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(text, sample); err != nil {
				t.Fatal(err)
			}
			strict := client.WithFieldValidation(client.NewNamespacedClient(o, objects.Namespace), metav1.FieldValidationStrict)
			err = strict.Create(t.Context(), sample, client.DryRunAll)
			switch {
			case unquoted[filepath.Base(file)]:
				if !apierrors.IsInvalid(err) {
					t.Errorf("it is admitted with a boolean for a text: %v", err)
				}
			case stale[filepath.Base(file)]:
				if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknown field") {
					t.Errorf("it is admitted with a field that nobody knows: %v", err)
				}
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// TestImportOfSamples: `farrier import manifests` says of each sample what became of it, and what it writes Farrier admits.
func TestImportOfSamples(t *testing.T) {
	f := farrier.Up(t, 1)
	folder := filepath.Join(farrier.Module(t, "github.com/ironcore-dev/metal-operator"), "config/samples")
	written := filepath.Join(t.TempDir(), "imported.yaml")
	said, err := farrier.Command(t, "import", "manifests", folder, "-o", written)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	files, err := filepath.Glob(filepath.Join(folder, "metal_v1alpha1_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		var sample unstructured.Unstructured
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &sample)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := "taken: " + file + "#1: " + sample.GetKind() + " "
		if unquoted[filepath.Base(file)] {
			want = "refused: " + file + "#1: " + sample.GetKind() + ": spec."
		}
		if stale[filepath.Base(file)] {
			want = "refused: " + file + "#1: " + sample.GetKind() + ": unknown field"
		}
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	text, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	o := objects.Of(t, f)
	for _, document := range strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		strict := client.WithFieldValidation(client.NewNamespacedClient(o, objects.Namespace), metav1.FieldValidationStrict)
		if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}
