package process

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// plumbing is what the queue of the resolver stands on (internal/cache/resolver). None of it knows an API or an object.
var plumbing = []string{
	"k8s.io/utils/clock", "k8s.io/client-go/util/workqueue", "k8s.io/apimachinery/pkg/util/runtime", "k8s.io/apimachinery/pkg/util/sets", "k8s.io/klog/v2",
}

// TestNoWayToKubernetes: whoever takes over a boot server finds nothing in the program that could talk to a Kubernetes API, nor the words of
// its objects. The walls of internal/architecture say the same of packages; this is what is linked.
func TestNoWayToKubernetes(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/farrier-dev/farrier/cmd/farrier-bootserver").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/farrier-dev/farrier/internal/bootserver") {
		t.Fatalf("the list is not that of the program: %d packages", len(linked))
	}
	for _, path := range linked {
		kubernetes := strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/")
		controller, _, _ := strings.Cut(strings.TrimPrefix(path, "github.com/farrier-dev/farrier/internal/"), "/")
		switch {
		case kubernetes && !slices.Contains(plumbing, path) && !strings.HasPrefix(path, "k8s.io/klog/v2/"):
		case strings.HasPrefix(path, "github.com/farrier-dev/farrier/api"):
		case controller == "controller" || controller == "system" || controller == "admission" || controller == "manager" || controller == "controlplane":
		default:
			continue
		}
		t.Errorf("the boot server links %s", path)
	}
}
