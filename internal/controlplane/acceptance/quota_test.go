package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// TestTheStoreAtItsBound: history that fills the database to its bound is dropped, and writes go on, without a person. Nothing else is lost.
func TestTheStoreAtItsBound(t *testing.T) {
	t.Parallel()
	const quota, size = 24 << 20, 512 << 10
	process := testapi.Launch(t, "--data-dir", t.TempDir(), "--store-quota", fmt.Sprint(quota)).MustBeReady(t)
	maps := clientset(t, process.RESTConfig()).CoreV1().ConfigMaps("default")
	kept := createConfigMap(t, clientset(t, process.RESTConfig()), "default", configMap("kept"))
	object := configMap("grows")
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Four times what the database may hold, so that it has met its bound for certain.
	refused, limit := 0, time.Now().Add(5*time.Minute)
	for written := 0; written < 4*quota; {
		object.Data = map[string]string{"content": fmt.Sprint(written) + strings.Repeat("x", size)}
		_, err := maps.Update(t.Context(), object, metav1.UpdateOptions{})
		switch {
		case err == nil:
			written += size
		case !strings.Contains(err.Error(), "database space exceeded"):
			t.Fatal(err)
		default:
			refused++
			if time.Now().After(limit) {
				t.Fatalf("it does not recover: %v", err)
			}
		}
	}
	if refused == 0 {
		t.Error("the database never met its bound")
	}
	found, err := maps.Get(t.Context(), kept.Name, metav1.GetOptions{})
	if err != nil || found.UID != kept.UID {
		t.Errorf("%v, %v", found, err)
	}
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
}
