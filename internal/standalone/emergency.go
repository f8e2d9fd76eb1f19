package standalone

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
	"github.com/farrier-dev/farrier/internal/controlplane/pki"
)

// What is known of the administrator's kubeconfig: the name of the file in a data directory, and that of the cluster, the user and the context
// in it.
const (
	KubeconfigFile = controlplane.DefaultKubeconfig
	ClusterName    = kubeconfig.Name
)

// EmergencyKubeconfig makes a kubeconfig that may do everything for an hour, from the authority in a data directory. The API's URL is that
// of the kubeconfig there unless one is given. It touches nothing and needs no right in the API.
func EmergencyKubeconfig(dataDir, url string, now time.Time) ([]byte, error) {
	authority, err := pki.FindAuthority(filepath.Join(dataDir, "pki"))
	if err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	url = cmp.Or(url, kubeconfig.Server(filepath.Join(dataDir, controlplane.DefaultKubeconfig)), "https://"+controlplane.DefaultAddress)
	return kubeconfig.Emergency(authority, url, now)
}
