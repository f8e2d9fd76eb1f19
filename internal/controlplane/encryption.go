package controlplane

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

const encryptionFile = "encryption.yaml"

// encryptedResources rest encrypted in etcd: what holds passwords of people and of management controllers.
var encryptedResources = []string{"secrets", "bmcsecrets.metal.ironcore.dev"}

// ensureEncryption returns the path of the API server's EncryptionConfiguration, written once with a fresh key.
//
// The provider is secretbox (XSalsa20 and Poly1305). Its nonces have 192 random bits, so one key may encrypt without end, whereas aesgcm,
// with 96, must change its key every 200,000 writes. There is no identity provider to fall back to: a value in etcd that is not encrypted
// was not written by us and is refused.
//
// A person may put a second key in front, as the Kubernetes documentation describes; the file is never written again.
func ensureEncryption(dir *datadir.Dir) (string, error) {
	path := dir.Join(encryptionFile)
	switch _, err := os.Stat(path); {
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("encryption at rest: %w", err)
	}
	if _, err := os.Stat(dir.Join(etcdDir, "member")); err == nil {
		return "", fmt.Errorf("encryption at rest: %s is missing, and without its key the secrets in %s cannot be read: "+
			"restore the file, or start with an empty data directory", path, dir.Join(etcdDir))
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", fmt.Errorf("encryption at rest: %w", err)
	}
	content, err := yaml.Marshal(apiserverv1.EncryptionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "EncryptionConfiguration"},
		Resources: []apiserverv1.ResourceConfiguration{{
			Resources: encryptedResources,
			Providers: []apiserverv1.ProviderConfiguration{{
				Secretbox: &apiserverv1.SecretboxConfiguration{
					Keys: []apiserverv1.Key{{Name: "key1", Secret: base64.StdEncoding.EncodeToString(key)}},
				},
			}},
		}},
	})
	if err != nil {
		return "", fmt.Errorf("encryption at rest: %w", err)
	}
	if err := datadir.WriteFile(path, content); err != nil {
		return "", fmt.Errorf("encryption at rest: writing %s: %w", path, err)
	}
	return path, nil
}
