package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// TestTimelineOfAManager: with the authority of the API's clients the manager knows the user of a kubeconfig by its certificate, and
// `farrier timeline` finds the manager by what it publishes; without one it takes tokens alone.
func TestTimelineOfAManager(t *testing.T) {
	s := newSite(t)
	config, err := clientcmd.LoadFromFile(s.api.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	authority := filepath.Join(t.TempDir(), "ca.pem")
	for _, cluster := range config.Clusters { // the API's authority signs its clients too
		if err := os.WriteFile(authority, cluster.CertificateAuthorityData, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 1, "--operator-client-ca-file"},
		{[]string{"--operator-client-ca-file", authority}, 0, "Machine " + bootedUUID},
	} {
		m := launch(t, "operators "+fmt.Sprint(c.code), append(append([]string{"--operator-address", loopback.Free(t)}, s.args...), c.args...)...)
		m.isReady()
		eventually(t, c.want, func() error { // its certificate is made at its start, and published anew
			stdout, stderr, code := product.Ask(t, product.Farrier, "timeline", "--kubeconfig", s.api.Kubeconfig(), "--manager-namespace", s.namespace, bootedUUID)
			if code != c.code || !strings.Contains(stdout+stderr, c.want) {
				return fmt.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			return nil
		})
		m.stop()
	}
}
