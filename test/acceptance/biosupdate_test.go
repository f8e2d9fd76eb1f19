//go:build budget

package acceptance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// hundred is how many servers the page has.
const hundred = 100

// TestBudgetOfABIOSUpdate types docs/bios-update.md, block after block, with the ports of this test. What has come about is looked at after each, and
// all the while nobody finds more servers in maintenance than the policy allows. A hundred servers beside other tests would wait for each other.
func TestBudgetOfABIOSUpdate(t *testing.T) {
	dir, admin := t.TempDir(), loopback.Free(t)
	p := product.Start(t, filepath.Join(dir, "data"), "--sim", fmt.Sprint(hundred), "--sim-address", "127.0.0.1:0", "--sim-admin-address", admin, "--registry-address", "127.0.0.1:0")
	t.Setenv("KUBECONFIG", p.Kubeconfig)
	t.Chdir(dir)
	p.Eventually("all servers are Available", func(context.Context) error {
		f, err := statusOf(t)
		if err == nil && f.States[string(metalv1.ServerStateAvailable)] != hundred {
			err = fmt.Errorf("%+v", f.States)
		}
		return err
	})
	ports := strings.NewReplacer("127.0.0.1:8099", firmwareServer(t, dir))
	most := watchMaintenances(t, p)
	after := afterBlocks(t, p)
	blocks := blocksOf(t, "docs/bios-update.md")
	for i, b := range blocks {
		switch b.language {
		case "yaml":
			if err := os.WriteFile(b.file, []byte(ports.Replace(b.text)), 0o600); err != nil {
				t.Fatal(err)
			}
		case "sh":
			for line := range strings.Lines(b.text) {
				typesLine(t, p, admin, strings.TrimSpace(line))
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		if last := i == len(blocks)-1 || blocks[i+1].title != b.title; last && after[b.title] != nil {
			after[b.title]()
			delete(after, b.title)
		}
	}
	for title := range after {
		t.Errorf("the page has no section %q", title)
	}
	if n := most(); n == 0 || n > hundred/4 {
		t.Errorf("%d servers were in maintenance at once; the policy allows a quarter of %d", n, hundred)
	}
}

// afterBlocks is what has come about at the end of a section.
func afterBlocks(t *testing.T, p *product.Product) map[string]func() {
	versions := func() map[string]int {
		var servers metalv1.ServerList
		if err := p.List(t.Context(), &servers); err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, s := range servers.Items {
			of[s.Status.BIOSVersion]++
		}
		return of
	}
	has := func(version string) {
		p.Eventually("all have BIOS "+version, func(context.Context) error {
			if of := versions(); of[version] != hundred {
				return fmt.Errorf("BIOS versions: %v", of)
			}
			return nil
		})
	}
	return map[string]func(){
		"Say how careful to be": func() {
			stands(t, p, "before it goes", func(r farrierv1.Rollout) bool {
				return r.Reason == "Paused" && r.Targets == hundred && r.Waiting == hundred
			})
		},
		"Let it go": func() { has("2.20.0") },
		"A bad image": func() {
			stands(t, p, "after a bad image", func(r farrierv1.Rollout) bool {
				return r.Failed == 2 && r.Waiting == hundred-2 && r.Reason == "FailureLimitReached"
			})
			has("2.20.0")
		},
		"The way back": func() { has("2.4.1") },
	}
}

// stands waits until the rollout stands as it should.
func stands(t *testing.T, p *product.Product, when string, right func(farrierv1.Rollout) bool) {
	t.Helper()
	p.Eventually("the rollout stands as it should "+when, func(ctx context.Context) error {
		var policy farrierv1.RolloutPolicy
		if err := p.Get(ctx, client.ObjectKey{Name: "canaries-first"}, &policy); err != nil {
			return err
		}
		if r := policy.Status.Rollouts; len(r) != 1 || !right(r[0]) {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
}

// watchMaintenances counts the servers in maintenance until somebody asks for the most that there were at once.
func watchMaintenances(t *testing.T, p *product.Product) func() int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	most, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var list metalv1.ServerMaintenanceList
			if err := p.List(ctx, &list); err == nil {
				most = max(most, len(list.Items))
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() int {
		cancel()
		<-done
		return most
	}
}

// firmwareServer is the web server of the page.
func firmwareServer(t *testing.T, dir string) string {
	t.Helper()
	for _, version := range []string{"2.4.1", "2.20.0", "2.21.0"} {
		if err := os.WriteFile(filepath.Join(dir, "bios-"+version+".bin"), []byte("BIOS "+version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// typesLine does what a line of the page does: kubectl apply by the API, everything else by a shell.
func typesLine(t *testing.T, p *product.Product, admin, line string) {
	t.Helper()
	file, applies := strings.CutPrefix(line, "kubectl apply -f ")
	if !applies {
		typed := strings.ReplaceAll(line, "farrier ", "bin/farrier ")
		if strings.HasPrefix(line, "farrier sim fault ") {
			typed += " --admin-address " + admin
		}
		t.Logf("$ %s\n%s", line, shell(t, typed))
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &obj.Object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := p.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// block is a block of a page: the section that it stands in, and for a file the last name before it.
type block struct{ title, language, file, text string }

var fileName = regexp.MustCompile("`([a-z-]+\\.yaml)`")

func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var title, file string
	for i, part := range strings.Split("\n"+string(text), "\n```") {
		if i%2 == 1 {
			language, content, _ := strings.Cut(part, "\n")
			blocks = append(blocks, block{title, language, file, content + "\n"})
			continue
		}
		for line := range strings.Lines(part) {
			if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
				title = heading
			}
			if found := fileName.FindStringSubmatch(line); found != nil {
				file = found[1]
			}
		}
	}
	return blocks
}
