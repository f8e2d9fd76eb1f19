package objects

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/test/clients/farrier"
)

// Define installs definitions of kinds from files, over those of the same names that are there, and waits until the API serves them.
func (o *Objects) Define(pattern string) {
	o.t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		o.t.Fatalf("definitions in %s: %v, %v", pattern, files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			o.t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			o.t.Fatalf("%s: %v", file, err)
		}
		there := &apiextensionsv1.CustomResourceDefinition{}
		switch err := o.Get(o.t.Context(), client.ObjectKeyFromObject(definition), there); {
		case err == nil:
			definition.ResourceVersion = there.ResourceVersion
			err = o.Update(o.t.Context(), definition)
			if err != nil {
				o.t.Fatalf("%s: %v", file, err)
			}
		case apierrors.IsNotFound(err):
			if err := o.Create(o.t.Context(), definition); err != nil {
				o.t.Fatalf("%s: %v", file, err)
			}
		default:
			o.t.Fatalf("%s: %v", file, err)
		}
		farrier.Eventually(o.t, definition.Name+" is served", func(ctx context.Context) error {
			if err := o.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			for _, condition := range definition.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("conditions %v", definition.Status.Conditions)
		})
	}
}
