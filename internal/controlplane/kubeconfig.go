package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

// contextName names cluster, user and context of the kubeconfig.
const contextName = "farrier"

// access is what a client needs to connect as administrator.
type access struct {
	url           string
	ca, cert, key []byte
}

func newAccess(address *net.TCPAddr, c *certificates) access {
	return access{url: serverURL(address), ca: c.authority.CertPEM, cert: c.admin.CertPEM, key: c.admin.KeyPEM}
}

func (a access) restConfig() *rest.Config {
	return &rest.Config{
		Host:            a.url,
		TLSClientConfig: rest.TLSClientConfig{CAData: a.ca, CertData: a.cert, KeyData: a.key},
		// The default of five requests a second is meant for clients of a shared server. Here both ends are one process, and the server
		// bounds the requests in flight.
		QPS: -1,
	}
}

// writeKubeconfig replaces the file on every start, because port and certificates may have changed.
func (a access) writeKubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: a.url, CertificateAuthorityData: a.ca}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{ClientCertificateData: a.cert, ClientKeyData: a.key}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("kubeconfig %s (--kubeconfig): %w", path, err)
	}
	if err := datadir.WriteFile(path, content); err != nil {
		return fmt.Errorf("kubeconfig %s (--kubeconfig) cannot be written: %w", path, err)
	}
	return nil
}
