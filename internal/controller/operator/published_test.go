package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestPublishedIsFound(t *testing.T) {
	api := controllertest.NewAPI(t)
	if _, err := Find(t.Context(), api, "farrier-system"); !apierrors.IsNotFound(err) {
		t.Errorf("before: %v", err)
	}
	for _, at := range []Address{{URL: "https://a", CA: []byte("pem")}, {URL: "https://a", CA: []byte("pem")}, {URL: "https://b", CA: []byte{}}} {
		if err := Publish(t.Context(), api, api, "farrier-system", at); err != nil {
			t.Fatal(err)
		}
		got, err := Find(t.Context(), api, "farrier-system")
		if diff := cmp.Diff(at, got); diff != "" || err != nil {
			t.Errorf("%v (-published +found):\n%s", err, diff)
		}
	}
}
