package bootservers

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/controlplane/crds"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// certManagerVariable names a folder with the definitions of cert-manager; without it they are had from the Go module.
const certManagerVariable = "FARRIER_TEST_CERTMANAGER"

// certManagerDefinitions are the real ones.
func certManagerDefinitions(t *testing.T) (all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	folder := os.Getenv(certManagerVariable)
	if folder == "" {
		download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
		download.Dir = filepath.Join("..", "..", "hack", "certmanager")
		out, err := download.Output()
		var module struct{ Dir string }
		if err = errors.Join(err, json.Unmarshal(out, &module)); err != nil {
			t.Fatalf("the definitions of cert-manager: %v\n%s", err, out)
		}
		folder = filepath.Join(module.Dir, "deploy", "crds")
	}
	files, err := filepath.Glob(filepath.Join(folder, "cert-manager.io_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no definitions (%v)", folder, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err = errors.Join(err, yaml.Unmarshal(content, definition)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, definition)
	}
	return all
}

// documentedManifests are those of cert-manager on the page for operators.
func documentedManifests(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "boot-servers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(page, []byte("```yaml\n"))[1:] {
		block, _, _ := bytes.Cut(part, []byte("```"))
		for document := range strings.SplitSeq(string(block), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatalf("%v\n%s", err, document)
			}
			if strings.HasPrefix(object.GetAPIVersion(), "cert-manager.io/") {
				all = append(all, object)
			}
		}
	}
	return all
}

// certificate is what counts of a Certificate of cert-manager.
type certificate struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretName, CommonName string
		DNSNames               []string
		IsCA                   bool
		Usages                 []string
		PrivateKey             struct{ Algorithm, RotationPolicy string }
		Duration               metav1.Duration
		IssuerRef              struct{ Name, Kind string }
	} `json:"spec"`
}

// TestCertManager: the API takes the manifests of the page with the definitions of cert-manager, every field is one that it knows, and the Secrets
// that come of them are files by which a manager and a boot server know each other.
func TestCertManager(t *testing.T) {
	t.Parallel()
	api := testapi.StartWith(t)
	if err := crds.Install(t.Context(), api.RESTConfig(), certManagerDefinitions(t), crds.Options{}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(api.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(c, client.FieldValidation(metav1.FieldValidationStrict))
	create(t, c, namespace("farrier-system"))

	cm := newCertManager(t)
	for _, manifest := range documentedManifests(t) {
		create(t, strict, manifest)
		if manifest.GetKind() == "Issuer" {
			cm.issuer(manifest)
			continue
		}
		var asked certificate
		encoded, err := manifest.MarshalJSON()
		if err = errors.Join(err, json.Unmarshal(encoded, &asked)); err != nil {
			t.Fatal(err)
		}
		cm.issue(asked)
	}
	misspelt := documentedManifests(t)[1]
	misspelt.SetName("misspelt")
	if err := unstructured.SetNestedField(misspelt.Object, "x", "spec", "secretname"); err != nil {
		t.Fatal(err)
	}
	if err := strict.Create(t.Context(), misspelt); err == nil {
		t.Error("the API takes a field that cert-manager does not have, so that this test proves nothing")
	}

	manager, bootServer := cm.identity("boot-stream"), cm.identity("boot-1-north")
	table, err := peer.ParseTable([]string{"boot-1.north.example=north"})
	if err != nil {
		t.Fatal(err)
	}
	if err := shake(t, peer.NewAuthorizer(manager, table).ServerConfig(), bootServer.ClientConfig("boot-stream.farrier.example")); err != nil {
		t.Errorf("a manager and a boot server with these certificates: %v", err)
	}
	if err := shake(t, peer.NewAuthorizer(manager, table).ServerConfig(), manager.ClientConfig("boot-stream.farrier.example")); err == nil {
		t.Error("the manager's certificate is taken for that of a boot server")
	}
}

// shake connects two ends.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	answered := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = conn.Write([]byte("welcome"))
			err = errors.Join(err, conn.Close())
		}
		answered <- err
	}()
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: client}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		return errors.Join(err, <-answered)
	}
	defer conn.Close()
	said, err := io.ReadAll(conn) // a server refuses a client only after the client's handshake
	if err = errors.Join(err, <-answered); err == nil && string(said) != "welcome" {
		err = fmt.Errorf("the server says %q", said)
	}
	return err
}

// identity is that of files as the kubelet lays them.
func (cm *certManager) identity(secret string) *peer.Identity {
	cm.t.Helper()
	folder := cm.t.TempDir()
	for name, content := range cm.secrets[secret] {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o400); err != nil {
			cm.t.Fatal(err)
		}
	}
	i, err := peer.FromFiles(peer.In(folder), peer.Options{Logger: testr.New(cm.t)})
	if err != nil {
		cm.t.Fatalf("Secret %s, of %q: %v", secret, slices.Sorted(maps.Keys(cm.secrets)), err)
	}
	return i
}
