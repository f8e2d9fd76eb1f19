package acceptance

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

func TestSecretsRestEncrypted(t *testing.T) {
	t.Parallel()
	// Lengths divisible by three, so that base64 of the marker is found in base64 of anything that starts with it.
	const secretMarker, bmcMarker, plainMarker = "marker-of-a-secret", "marker-of-a-bmc-secret", "marker-of-a-configmap"
	dir := filepath.Join(t.TempDir(), "data")
	first := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	cfg := first.RESTConfig()
	install(t, cfg, definition(bmcSecrets, "BMCSecret", apiextensionsv1.ClusterScoped))

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}, StringData: map[string]string{"password": secretMarker}}
	if _, err := clientset(t, cfg).CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(bmcMarker))
	bmcSecret := object(bmcSecrets, "BMCSecret", "password", map[string]any{
		"data":       map[string]any{"password": encoded},
		"stringData": map[string]any{"username": bmcMarker},
	})
	if _, err := dynamicClient(t, cfg).Resource(bmcSecrets).Create(t.Context(), bmcSecret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plain := configMap("plain")
	plain.Data = map[string]string{"key": plainMarker}
	createConfigMap(t, clientset(t, cfg), "default", plain)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	store := readAll(t, filepath.Join(dir, "etcd"))
	for _, marker := range []string{secretMarker, bmcMarker, base64.StdEncoding.EncodeToString([]byte(secretMarker)), encoded} {
		if bytes.Contains(store, []byte(marker)) {
			t.Errorf("the files of etcd hold %q in clear", marker)
		}
	}
	if !bytes.Contains(store, []byte(plainMarker)) {
		t.Error("the files of etcd do not hold the data of a configmap: the test looks in the wrong place")
	}

	second := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	found, err := clientset(t, second.RESTConfig()).CoreV1().Secrets("default").Get(t.Context(), "password", metav1.GetOptions{})
	if err != nil || string(found.Data["password"]) != secretMarker {
		t.Errorf("secret after a restart: %q, %v", found.Data["password"], err)
	}
	again, err := dynamicClient(t, second.RESTConfig()).Resource(bmcSecrets).Get(t.Context(), "password", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if value, _, _ := unstructured.NestedString(again.Object, "data", "password"); value != encoded {
		t.Errorf("bmcsecret after a restart: %q, want %q", value, encoded)
	}
}

func TestLostEncryptionKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := testapi.Launch(t, "--data-dir", dir).MustBeReady(t).Stop(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "encryption.yaml")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	err := testapi.Launch(t, "--data-dir", dir).Wait(30 * time.Second)
	if err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("start without the key: %v, want an error that names %s", err, key)
	}
	if _, err := os.Stat(key); err == nil {
		t.Error("a new key was written beside data of the old one")
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, kubeconfig := filepath.Join(parent, "data"), filepath.Join(parent, "elsewhere", "config")
	process := testapi.Launch(t, "--data-dir", dir, "--kubeconfig", kubeconfig).MustBeReady(t)
	if process.Kubeconfig() != kubeconfig {
		t.Errorf("kubeconfig %s, want %s", process.Kubeconfig(), kubeconfig)
	}
	for path, want := range map[string]fs.FileMode{
		kubeconfig:                          0o600,
		kubeconfig + ".pem":                 0o600,
		dir:                                 0o700,
		filepath.Join(dir, "pki"):           0o700,
		filepath.Join(dir, "pki", "ca.key"): 0o600,
		filepath.Join(dir, "pki", "apiserver.key"):    0o600,
		filepath.Join(dir, "audit"):                   0o700,
		filepath.Join(dir, "audit/audit.log"):         0o600,
		filepath.Join(dir, "pki/service-account.key"): 0o600,
		filepath.Join(dir, "encryption.yaml"):         0o600,
		filepath.Join(dir, "etcd"):                    0o700,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "kubeconfig")); err == nil {
		t.Error("a second kubeconfig was written to the data directory")
	}
}

func readAll(t *testing.T, dir string) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}
