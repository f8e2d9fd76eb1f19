package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

func TestMain(m *testing.M) { product.Main(m) }

const (
	chart     = "../../charts/farrier"
	namespace = "bare-metal"
)

// cluster is a Kubernetes API under the eyes of one test, and its client is an administrator's.
type cluster struct {
	*lab.Running
	t        *testing.T
	api      *testapi.Process
	services *services
	warnings *warnings
}

// warnings are what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// heard returns what the API server has warned of since the last time.
func (w *warnings) heard() (said []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said, w.said = w.said, nil
	return said
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	s := newServices(t)
	api := testapi.LaunchKubernetes(t, "--data-dir", filepath.Join(t.TempDir(), "data"), "--egress-selector-config-file", s.config).MustBeReady(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kube-apiserver printed:\n%s", api.Output())
		}
	})
	c := &cluster{t: t, api: api, services: s, warnings: &warnings{}}
	administrator := api.RESTConfig()
	administrator.WarningHandler = c.warnings
	c.Running = lab.At(t, administrator)
	return c
}

// in is the cluster under the eyes of a subtest.
func (c *cluster) in(t *testing.T) *cluster {
	other := *c
	other.t = t
	return &other
}

// helm runs Helm as an administrator does, and returns what it printed. The test fails if that does.
func (c *cluster) helm(args ...string) string {
	c.t.Helper()
	out, err := c.tryHelm(c.api.Kubeconfig(), args...)
	if err != nil {
		c.t.Fatalf("helm %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// tryHelm runs Helm with a kubeconfig. The error has what it printed.
func (c *cluster) tryHelm(kubeconfig string, args ...string) (string, error) {
	c.t.Helper()
	program := os.Getenv("FARRIER_TEST_HELM")
	if program == "" {
		c.t.Skip("FARRIER_TEST_HELM names no helm: make acceptance sets it")
	}
	home := c.t.TempDir()
	ctx, cancel := context.WithTimeout(c.t.Context(), product.Patience)
	defer cancel()
	if !slices.Contains(args, "--namespace") {
		args = append(args, "--namespace", namespace)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// install installs the chart of this repository with values of its own.
func (c *cluster) install(values ...string) {
	c.t.Helper()
	args := []string{"install", "farrier", chart, "--create-namespace"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	c.helm(args...)
	c.served()
}

// accountConfig is a kubeconfig of a service account, with a token as its pods get one.
func (c *cluster) accountConfig(namespace, name string) string {
	c.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(c.t.Context(), account, request); err != nil {
		c.t.Fatal(err)
	}
	return c.kubeconfig(c.api.RESTConfig().Host, request.Status.Token)
}

func (c *cluster) kubeconfig(server, token string) string {
	c.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.api.RESTConfig().CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// connect is the connection that a kubeconfig describes.
func (c *cluster) connect(kubeconfig string) *rest.Config {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// manager is a farrier-manager with the flags and the rights that the chart gives one.
type manager struct {
	*product.Process
	t  *testing.T
	ip string
	// lacks says that the test has taken away rights.
	lacks bool
}

var addresses atomic.Uint32

// address is one of this host that no other pod of the test has.
func address() string {
	n := addresses.Add(1)
	return netip.AddrFrom4([4]byte{127, 97, byte(n >> 8), byte(n)}).String()
}

// flags writes the flags that the chart made for a program into a file, as its pods find it.
func (c *cluster) flags(program string) string {
	c.t.Helper()
	var flags corev1.ConfigMap
	if err := c.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: program}, &flags); err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.t.TempDir(), program+".yaml")
	if err := os.WriteFile(file, []byte(flags.Data[program+".yaml"]), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// manage starts a manager. In place of a pod it has an address of this host and a folder, and flags of the test's own.
func (c *cluster) manage(args ...string) *manager {
	c.t.Helper()
	m := &manager{t: c.t, ip: address()}
	args = append([]string{
		"--config", c.flags("farrier-manager"), "--kubeconfig", c.accountConfig(namespace, "farrier-manager"), "--data-dir", c.t.TempDir(),
		"--health-address", m.ip + ":8081", "--boot-address", m.ip + ":8082", "--metrics-address", m.ip + ":8443", "--webhook-address", m.webhook(),
	}, args...)
	m.Process = product.Run(c.t, product.Manager, "manager", nil, args...)
	c.t.Cleanup(func() {
		m.Kill()
		for line := range strings.Lines(m.Log()) {
			if !m.lacks && strings.Contains(line, "is forbidden: User") {
				c.t.Errorf("the chart does not let the manager do what it does: %s", line)
			}
		}
		m.ShowIfFailed()
	})
	return m
}

func (m *manager) webhook() string { return m.ip + ":9443" }

// boot is where machines ask.
func (m *manager) boot() string { return "http://" + m.ip + ":8082" }

// ready waits until the probe of a pod would say so.
func (m *manager) ready() {
	m.t.Helper()
	isReady(m.t, m.Process, m.ip)
}

// isReady waits until the probe of a pod at an address would say so.
func isReady(t *testing.T, p *product.Process, ip string) {
	t.Helper()
	product.Eventually(t, "the pod at "+ip+" is ready", func(ctx context.Context) error {
		if p.Ended() {
			return errors.New("it has ended")
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ip+":8081/readyz", nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

// stop ends the manager as a cluster does.
func (m *manager) stop() {
	m.t.Helper()
	if err := m.Stop(); err != nil {
		m.t.Errorf("the manager after SIGTERM: %v", err)
	}
}
