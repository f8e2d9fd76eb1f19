package bootservers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// TestFarrierUp: `farrier up` makes authority and certificates by itself. One boot server gets its certificate as a file, another joins with a token; a
// machine is discovered through each of them, and both are listed.
func TestFarrierUp(t *testing.T) {
	w := &world{Lab: lab.New(t, 2), t: t, stream: loopback.Free(t)}
	join, boots := loopback.Free(t), []string{loopback.Free(t), loopback.Free(t)}
	w.Running = w.Up(t, "--boot-stream-address", w.stream, "--boot-stream-join-address", join, "--boot-url", "http://"+boots[0])
	w.managerArgs = []string{"--kubeconfig", w.Kubeconfig}
	w.certificates = filepath.Join(w.DataDir, "boot-stream")
	name := func(i int) string { return []string{"boot-1.example", "boot-2.example"}[i] }
	for i, address := range boots {
		data := t.TempDir()
		b := &bootServer{w: w, name: name(i), url: "http://" + address, health: "http://" + loopback.Free(t), data: data}
		b.args = []string{
			"--managers", w.stream, "--manager-name", "boot-stream.farrier.internal", "--data-dir", data, "--boot-address", address, "--boot-url", b.url,
			"--health-address", strings.TrimPrefix(b.health, "http://"),
			"--allowed-registries", w.Registry.Address(), "--plain-http-registries", w.Registry.Address(),
		}
		w.servers = append(w.servers, b)
	}
	w.says("cert", "issue", name(0), "--dir", w.certificates)
	w.servers[0].args = append(w.servers[0].args, "--certificates-dir", filepath.Join(w.certificates, name(0)))
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(w.says("cert", "token", name(1), "--kubeconfig", w.Kubeconfig)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.servers[1].args = append(w.servers[1].args, "--join-address", join, "--join-token-file", token, "--join-ca-file", filepath.Join(w.certificates, "ca.crt"))

	for i, b := range w.servers {
		b.start()
		b.isReady()
		w.BootURL.Store(b.url)
		w.Endpoint(w.Running, w.BMCs()[i])
		w.Eventually("a machine is discovered through "+b.name, func(context.Context) error {
			for _, record := range w.Machine(i).Record() {
				if len(record.Fetches) > 0 {
					return nil
				}
			}
			return errNone
		})
	}
	w.Discovered(w.Running)
	for i, b := range w.servers { // their probes report to --boot-url
		if from := w.Machine(i).Record()[0].Fetches[0].URL; !strings.HasPrefix(from, b.url+"/") {
			t.Errorf("machine %d has booted from %s, want %s", i, from, b.url)
		}
	}
	w.listed()
}

// says runs farrier, and returns what it prints.
func (w *world) says(args ...string) string {
	w.t.Helper()
	out, problem, code := product.Ask(w.t, product.Farrier, args...)
	if code != 0 {
		w.t.Fatalf("farrier %v: %s%s", args, out, problem)
	}
	return out
}
