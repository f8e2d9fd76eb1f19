package attacks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/certificate"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

const (
	apiDay  = 24 * time.Hour
	apiYear = 365 * apiDay
	// apiBinding gives the administrator's kubeconfig its rights.
	apiBinding = "farrier:admins"
)

// apiData is a data directory of a test that runs beside others and needs the API alone.
func apiData(t *testing.T) string {
	t.Helper()
	t.Parallel()
	return filepath.Join(t.TempDir(), "data")
}

// apiSigned connects with a certificate that the authority in a data directory has signed, as former versions signed the administrator's,
// and as an operator signs a tenant's.
func apiSigned(t *testing.T, kubeconfig, dataDir string, validity time.Duration, user string, groups ...string) *rest.Config {
	t.Helper()
	authority := certificate.Read(t, filepath.Join(dataDir, "pki", "ca.crt"), filepath.Join(dataDir, "pki", "ca.key"))
	client := authority.Sign(t, func(c *x509.Certificate) {
		c.Subject, c.NotAfter = pkix.Name{CommonName: user, Organization: groups}, time.Now().Add(validity)
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	admin := apiConfig(t, kubeconfig)
	return &rest.Config{Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{
		CAData: admin.CAData, CertData: client.Cert, KeyData: client.Key,
	}}
}

func apiConfig(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func apiMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
	}
}

// apiShown is the certificate that a client of a kubeconfig shows now.
func apiShown(t *testing.T, kubeconfig string) *x509.Certificate {
	t.Helper()
	config := apiConfig(t, kubeconfig)
	if config.CertFile != "" { // read once, as it may be replaced in between
		content, err := os.ReadFile(config.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		config.CertData, config.KeyData = content, content
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// TestAStolenKubeconfigEndsWithinADay: what lies in the data directory, or lay there when a former version ran, gives a thief a day at most,
// and nothing once an administrator has noticed.
func TestAStolenKubeconfigEndsWithinADay(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir)
	shown := apiShown(t, p.Kubeconfig)
	if left := time.Until(shown.NotAfter); left > apiDay || slices.Contains(shown.Subject.Organization, "system:masters") {
		t.Errorf("the administrator's certificate is %s's and valid for %s", shown.Subject, left)
	}

	// A directory of a former version, and a copy of what was in it.
	p.Stop()
	old := apiSigned(t, p.Kubeconfig, dir, 5*apiYear, "farrier-admin", "system:masters")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["farrier"] = &clientcmdapi.Cluster{Server: old.Host, CertificateAuthorityData: old.CAData}
	kubeconfig.AuthInfos["farrier"] = &clientcmdapi.AuthInfo{ClientCertificateData: old.CertData, ClientKeyData: old.KeyData}
	kubeconfig.Contexts["farrier"] = &clientcmdapi.Context{Cluster: "farrier", AuthInfo: "farrier"}
	kubeconfig.CurrentContext = "farrier"
	for path, content := range map[string][]byte{"admin.crt": old.CertData, "admin.key": old.KeyData} {
		if err := os.WriteFile(filepath.Join(dir, "pki", path), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := clientcmd.WriteToFile(*kubeconfig, filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	p = lab.Start(t, dir)
	if left := time.Until(apiShown(t, p.Kubeconfig).NotAfter); left > apiDay {
		t.Errorf("the kubeconfig of a former version was kept: valid for %s", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "pki", "admin.key")); err == nil {
		t.Error("the key of a former version still lies there")
	}
	for _, group := range []string{"system:masters", apiBinding} {
		copied := apiSigned(t, p.Kubeconfig, dir, 5*apiYear, "farrier-admin", group)
		if err := apiClient(t, copied).List(t.Context(), &corev1.SecretList{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("a copy of five years of %s is taken: %v", group, err)
		}
	}
	copied := apiOperator(apiSigned(t, p.Kubeconfig, dir, 5*apiYear, "farrier-admin", "system:masters"), p)
	for _, c := range []struct {
		config *rest.Config
		want   int
	}{{copied, http.StatusUnauthorized}, {apiOperator(apiConfig(t, p.Kubeconfig), p), http.StatusNotFound}} {
		if got := apiStatus(t, c.config, "/boots/4c4c4544-0043-3510-8052-b7c04f4e4d32"); got != c.want {
			t.Errorf("operators' address: %d, want %d", got, c.want)
		}
	}
}

// apiOperator is a connection to the operators' address with the certificate of one to the API.
func apiOperator(config *rest.Config, p *lab.Running) *rest.Config {
	config.Host, config.CAData, config.CAFile = p.Operator, nil, p.OperatorCA
	return config
}

// apiStatus is how a GET is answered.
func apiStatus(t *testing.T, config *rest.Config, path string) int {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestAnAdministratorIsRevoked takes the rights of every administrator's certificate away, also for the next start, and gets back in with the
// data directory alone.
func TestAnAdministratorIsRevoked(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir)
	refused := func(ctx context.Context) error {
		if err := p.List(ctx, &corev1.SecretList{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the administrator reads Secrets: %w", err)
		}
		return nil
	}
	if err := p.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: apiBinding}}); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the rights are gone", refused)
	p.Stop()
	p = lab.Start(t, dir) // the controllers have rights of their own
	if err := refused(t.Context()); err != nil {
		t.Errorf("after a start: %v", err)
	}

	stdout, stderr, code := product.Ask(t, product.Farrier, "emergency-kubeconfig", "--data-dir", dir)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	path := filepath.Join(t.TempDir(), "emergency")
	if err := os.WriteFile(path, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(apiShown(t, path).NotAfter); left > time.Hour {
		t.Errorf("the emergency lasts for %s", left)
	}
	if err := apiClient(t, apiConfig(t, path)).Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: apiBinding},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: apiBinding},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: apiBinding}},
	}); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the rights are back", func(ctx context.Context) error { return p.List(ctx, &corev1.SecretList{}) })

	if _, stderr, code := product.Ask(t, product.Farrier, "emergency-kubeconfig", "--data-dir", t.TempDir()); code != 1 || !strings.Contains(stderr, "--data-dir") {
		t.Errorf("without an authority: exit code %d: %s", code, stderr)
	}
}

// TestTheAdministratorsCertificateIsRenewed watches one that lives for a minute until it is another.
func TestTheAdministratorsCertificateIsRenewed(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir, "--admin-certificate-validity", "1m")
	first := apiShown(t, p.Kubeconfig)
	if left := time.Until(first.NotAfter); left > time.Minute {
		t.Errorf("valid for %s", left)
	}
	p.Eventually("the certificate is renewed before it ends", func(context.Context) error {
		now := apiShown(t, p.Kubeconfig)
		if now.Equal(first) {
			return fmt.Errorf("it is the same, and ends %s", now.NotAfter)
		}
		if bytes.Equal(now.RawSubjectPublicKeyInfo, first.RawSubjectPublicKeyInfo) {
			t.Error("the new certificate is of the old key")
		}
		return nil
	})
	if err := apiClient(t, apiConfig(t, p.Kubeconfig)).List(t.Context(), &corev1.NamespaceList{}); err != nil {
		t.Errorf("with the new certificate: %v", err)
	}
	apiMode(t, p.Kubeconfig+".pem", 0o600)
	for _, validity := range []string{"25h", "1s", "0s"} {
		if _, err := lab.Launch(t, filepath.Join(t.TempDir(), "data"), "--admin-certificate-validity", validity); validity != "0s" && (err == nil || !strings.Contains(err.Error(), "--admin-certificate-validity")) {
			t.Errorf("%s: %v, want it refused", validity, err)
		}
	}
}

// apiAuditLine is what is read of a line of the audit log.
type apiAuditLine struct {
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  struct{ Resource, Namespace, Name string }

	ResponseStatus struct{ Code int }
}

// TestTheAuditLogKnowsWhoItWas: who read a Secret and who changed what is on record with the answer, and what was in it is not. No flood of requests
// makes the record grow beyond its bounds.
func TestTheAuditLogKnowsWhoItWas(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir, "--audit-log-max-size", "2", "--audit-log-max-backups", "2")
	tenant := apiTenant(t, p, dir)
	const content = "what-nobody-else-shall-read"
	own := &corev1.Secret{ObjectMeta: apiMeta("own"), StringData: map[string]string{"a": content}}
	if err := errors.Join(
		tenant.Create(t.Context(), own), tenant.Get(t.Context(), client.ObjectKeyFromObject(own), &corev1.Secret{}),
		tenant.Create(t.Context(), apiClaim("claim")), tenant.Delete(t.Context(), apiClaim("claim")),
	); err != nil {
		t.Fatal(err)
	}
	if err := tenant.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "of-another"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	audit := filepath.Join(dir, "audit")
	log, err := os.ReadFile(filepath.Join(audit, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte(content)) {
		t.Error("the log has what is in a Secret")
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(log))
	for lines.Buffer(nil, len(log)+1); lines.Scan(); {
		var line apiAuditLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprintf("%s %s %s/%s %d", line.User.Username, line.Verb, line.ObjectRef.Resource, line.ObjectRef.Name, line.ResponseStatus.Code)] = true
	}
	for _, want := range []string{
		"eve create secrets/own 201", "eve get secrets/own 200", "eve create serverclaims/claim 201", "eve delete serverclaims/claim 200",
		"eve get secrets/of-another 403", "farrier-admin create namespaces/tenant-blue 201",
	} {
		if !seen[want] {
			t.Errorf("not on record: %s", want)
		}
	}

	long := strings.Repeat("a", 200<<10)
	for range 60 { // 12 MiB of lines
		err := tenant.List(t.Context(), &corev1.SecretList{}, client.InNamespace("default"), client.MatchingFields{"metadata.name": long})
		if err == nil {
			t.Fatal("he reads Secrets of another namespace")
		}
	}
	apiBounded(t, p, audit, 3*(2<<20))
}

// apiBounded waits until the files of the log are no larger than they may be together: former ones go a moment after the next is begun.
func apiBounded(t *testing.T, p *lab.Running, dir string, most int64) {
	t.Helper()
	p.Eventually("the audit log is bounded", func(context.Context) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		files, total := 0, int64(0)
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if strings.HasPrefix(entry.Name(), "audit") {
				files, total = files+1, total+info.Size()
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", entry.Name(), info.Mode())
			}
		}
		if files != 3 || total > most {
			return fmt.Errorf("%d files of %d bytes, want 3 of at most %d", files, total, most)
		}
		return nil
	})
}

// TestADirectoryThatSomebodyPutThereIsRefused: the store's socket goes to the directory for temporary files when its own path is too long. Whoever
// makes that directory first would own the socket, and with it everything.
func TestADirectoryThatSomebodyPutThereIsRefused(t *testing.T) {
	temp := t.TempDir()
	if len(temp) > 40 { // a socket below it would be too long again
		var err error
		if temp, err = os.MkdirTemp("/tmp", "farrier-"); err != nil { //nolint:usetesting // the test's own is too long
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(temp) })
	}
	t.Setenv("TMPDIR", temp)
	data := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	p := lab.Start(t, data)
	made, err := filepath.Glob(filepath.Join(temp, "farrier-*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%v (%v), want the directory of the socket", made, err)
	}
	p.Stop()

	for name, put := range map[string]func() error{
		"a link": func() error { return os.Symlink(t.TempDir(), made[0]) },
		"open":   func() error { return errors.Join(os.Mkdir(made[0], 0o700), os.Chmod(made[0], 0o777)) },
		"of another user": func() error {
			return errors.Join(os.Mkdir(made[0], 0o700), os.Chown(made[0], 54321, -1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "of another user" && os.Geteuid() != 0 {
				t.Skip("only root can give directories away")
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(made[0])
			_, err := lab.Launch(t, data)
			if err == nil {
				t.Fatal("it was used")
			}
			for _, part := range []string{made[0], "uid", "rm -r " + made[0], "TMPDIR"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message does not say %q: %v", part, err)
				}
			}
		})
	}
	lab.Start(t, data)
}

// TestADataDirectoryOfAnotherUserIsRefused: its owner could replace the keys in it.
func TestADataDirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	lab.Start(t, open)
	for _, dir := range []string{open, filepath.Join(open, "pki"), filepath.Join(open, "etcd"), filepath.Join(open, "audit")} {
		apiMode(t, dir, 0o700)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.Chown(foreign, 54321, -1)); err != nil {
		t.Fatal(err)
	}
	_, err := lab.Launch(t, foreign)
	if err == nil {
		t.Fatal("it was used")
	}
	for _, part := range []string{foreign, "--data-dir", "uid 54321", "chown -R 0 " + foreign} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message does not say %q: %v", part, err)
		}
	}
}
