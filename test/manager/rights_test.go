package manager

import (
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/farrier-dev/farrier/config"
)

// install applies config/manager and returns the kubeconfig of the service account there: every manager of a site may do
// what that file says, and no more.
func (s *site) install() string {
	s.t.Helper()
	objects, err := config.Manager()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, object := range objects {
		s.create(object)
	}
	return s.kubeconfigOf(s.namespace)
}

// kubeconfigOf writes a kubeconfig of the managers' account in a namespace.
func (s *site) kubeconfigOf(namespace string) string {
	s.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "farrier-manager"}}
	rest := s.api.RESTConfig()
	c := clientcmdapi.NewConfig()
	c.Clusters["site"] = &clientcmdapi.Cluster{Server: rest.Host, CertificateAuthorityData: rest.CAData, CertificateAuthority: rest.CAFile}
	c.AuthInfos[account.Name] = &clientcmdapi.AuthInfo{Token: s.tokenOf(account)}
	c.Contexts["site"] = &clientcmdapi.Context{Cluster: "site", AuthInfo: account.Name}
	c.CurrentContext = "site"
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// forbidden is the first line in which a manager says that it may not do something.
func (p *process) forbidden() string {
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, "is forbidden: User") || strings.Contains(line, "forbidden: attempting to grant") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
