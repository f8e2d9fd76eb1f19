package bootservers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

const (
	managerNamespace = "farrier-system"
	managerName      = "boot-stream.farrier.example"
	// south is a site without a boot server of its own here.
	south = "south"
)

// bootServerNames are in the manager's table. Those of the default site run.
var bootServerNames = []string{"boot-1.example", "boot-2.example", "boot-3.example=" + south}

// world is a rack, a Kubernetes API, a manager that is killed and started, and boot servers.
type world struct {
	*lab.Lab
	*lab.Running
	t   *testing.T
	api *testapi.Process
	// certificates is a directory of farrier cert.
	certificates string
	// managerArgs are what the manager is started with, and stream is where boot servers connect.
	managerArgs []string
	stream      string
	manager     *product.Process
	servers     []*bootServer
}

// newWorld builds a world with two boot servers, a manager and so many machines, which wait to be discovered. Its test runs beside others from here on.
func newWorld(t *testing.T, machines int) *world {
	t.Helper()
	w := &world{Lab: lab.New(t, machines), t: t, api: testapi.StartWith(t), certificates: filepath.Join(t.TempDir(), "certificates"), stream: loopback.Free(t)}
	w.Running = lab.At(t, w.api.RESTConfig())
	w.issue()
	boots := []string{loopback.Free(t), loopback.Free(t)}
	w.managerArgs = []string{
		"--kubeconfig", w.kubeconfig(), "--manager-namespace", managerNamespace, "--data-dir", t.TempDir(), "--boot-address", loopback.Free(t),
		"--health-address", loopback.Free(t), "--boot-url", "http://" + boots[0], "--boot-url", south + "=http://" + loopback.Free(t),
		"--mac-prefixes-file", w.Prefixes, "--probe-os-image", w.Registry.Reference("probe", "1"),
		"--allowed-registries", w.Registry.Address(), "--plain-http-registries", w.Registry.Address(),
		"--bmc-fast-poll", "100ms", "--bmc-poll-interval", "2s",
		"--boot-stream-address", w.stream, "--boot-stream-certificates-dir", filepath.Join(w.certificates, managerName),
		"--boot-servers", strings.Join(bootServerNames, ","),
	}
	key := filepath.Join(t.TempDir(), "view.key")
	if err := os.WriteFile(key, []byte("7d1f0c2b9a8e4d6f5c3b2a19080706f5e4d3c2b1a0f9e8d7c6b5a4938271605f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.startManager()
	for i, address := range boots {
		name := bootServerNames[i]
		w.servers = append(w.servers, &bootServer{w: w, name: name, url: "http://" + address, health: "http://" + loopback.Free(t), data: filepath.Join(t.TempDir(), "data")})
		b := w.servers[i]
		b.args = []string{
			"--managers", w.stream, "--manager-name", managerName, "--certificates-dir", filepath.Join(w.certificates, name),
			"--view-key-file", key, "--data-dir", b.data, "--boot-address", address, "--boot-url", b.url, "--health-address", strings.TrimPrefix(b.health, "http://"),
			"--allowed-registries", w.Registry.Address(), "--plain-http-registries", w.Registry.Address(), "--boot-rate-limit", "0",
		}
		b.start()
	}
	for _, b := range w.servers {
		b.isReady()
	}
	w.BootURL.Store(w.servers[0].url)
	return w
}

// issue makes the certificates, as an operator does.
func (w *world) issue() {
	w.t.Helper()
	commands := [][]string{{"init"}, {"issue", managerName, "--manager"}}
	for _, entry := range bootServerNames {
		name, site, _ := strings.Cut(entry, "=")
		commands = append(commands, []string{"issue", name, "--site", site})
	}
	for _, command := range commands {
		args := slices.Concat([]string{"cert"}, command, []string{"--dir", w.certificates})
		if out, problem, code := product.Ask(w.t, product.Farrier, args...); code != 0 {
			w.t.Fatalf("farrier %v: %s%s", args, out, problem)
		}
	}
}

// kubeconfig is that of a manager, who has the rights of config/manager.
func (w *world) kubeconfig() string {
	w.t.Helper()
	objects, err := config.Manager()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, object := range objects {
		create(w.t, w, object)
	}
	account, request := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: "farrier-manager"}}, &authenticationv1.TokenRequest{}
	if err := w.SubResource("token").Create(w.t.Context(), account, request); err != nil {
		w.t.Fatal(err)
	}
	from := w.api.RESTConfig()
	c := clientcmdapi.NewConfig()
	c.Clusters["site"] = &clientcmdapi.Cluster{Server: from.Host, CertificateAuthorityData: from.CAData, CertificateAuthority: from.CAFile}
	c.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	c.Contexts["site"] = &clientcmdapi.Context{Cluster: "site", AuthInfo: "manager"}
	c.CurrentContext = "site"
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// startManager starts the manager; whoever was killed before holds no lease any more.
func (w *world) startManager() {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: "farrier-manager"}}
	if err := w.Delete(w.t.Context(), lease); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	w.manager = product.Run(w.t, product.Manager, "manager", nil, w.managerArgs...)
	w.t.Cleanup(endOf(w.manager))
}

// endOf kills a process and shows what it has printed when the test has failed.
func endOf(p *product.Process) func() {
	return func() {
		p.Kill()
		p.ShowIfFailed()
	}
}

// bootServer is a farrier-bootserver.
type bootServer struct {
	*product.Process
	w           *world
	name        string
	url, health string
	data        string
	args        []string
}

func (b *bootServer) start() {
	b.w.t.Helper()
	b.Process = product.Run(b.w.t, product.BootServer, b.name, nil, b.args...)
	b.w.t.Cleanup(endOf(b.Process))
}

// isReady waits until machines may be sent there.
func (b *bootServer) isReady() {
	b.w.t.Helper()
	b.w.Eventually(b.name+" is ready", func(ctx context.Context) error { return b.saysOfItself(ctx, "/readyz", http.StatusOK) })
}

func (b *bootServer) saysOfItself(ctx context.Context, path string, want int) error {
	got, err := get(ctx, http.DefaultClient, b.health+path)
	if err == nil && got.status != want {
		err = fmt.Errorf("%s says %d: %s", path, got.status, got.body)
	}
	return err
}

// follows waits until the boot server has what a manager has sent after another epoch.
func (b *bootServer) follows(before string) (epoch string) {
	b.w.t.Helper()
	b.w.Eventually(b.name+" follows the manager", func(ctx context.Context) error {
		got, err := get(ctx, http.DefaultClient, b.url+"/ipxe/")
		if err != nil {
			return err
		}
		epoch, _, _ = strings.Cut(got.revision, "/")
		if epoch == "none" || epoch == before {
			return fmt.Errorf("its view is of %s", got.revision)
		}
		return nil
	})
	return epoch
}

// answer is what a machine is told.
type answer struct {
	status         int
	body, revision string
}

func get(ctx context.Context, by *http.Client, url string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	response, err := by.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(body), response.Header.Get("Farrier-View-Revision")}, err
}

// eventually waits until check returns nil.
func (w *world) Eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	w.Running.Eventually(what, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return check(ctx)
	})
}

var errNone = errors.New("there is none")
