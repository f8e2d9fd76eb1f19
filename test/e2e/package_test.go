package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/product"
)

// TestPackage lives with the Debian package as docs/debian.md says: it is installed on a host with systemd, started with a simulated rack, a server is claimed, the package is
// upgraded, removed, installed again and purged. The claim and its server are the same all the time.
func TestPackage(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	inFullRuns(t) // make release-smoke looks into the package, and has systemd judge the unit
	tabulate(t)
	one, two := buildPackage(t, "v0.0.1"), buildPackage(t, "v0.0.2")
	host := newFirstHost(t)
	host.run(`cp "$FARRIER_FIRST_RACK_UNPACKED/usr/bin/kubectl" /usr/local/bin/`)

	host.run("dpkg --install " + one)
	host.prints("systemctl is-enabled farrier || true", "disabled")
	host.prints("systemctl is-active farrier || true", "inactive")
	host.prints("stat --format '%U:%G %a' /etc/farrier /etc/farrier/farrier.yaml", "root:farrier 750\nroot:farrier 640")

	host.run("echo 'sim: 3' >> /etc/farrier/farrier.yaml\nsystemctl enable --now farrier")
	host.runs("v0.0.1")
	server := host.claims()

	host.run("dpkg --install " + two)
	host.runs("v0.0.2")
	host.prints("tail --lines 1 /etc/farrier/farrier.yaml", "sim: 3")
	host.stillClaimed(server, "an upgrade")

	host.run("dpkg --remove farrier")
	host.prints("systemctl is-active farrier || true", "inactive")
	host.prints("ls /usr/bin/farrier 2> /dev/null || ls /etc/farrier", "farrier.yaml")
	host.run("dpkg --install " + two + "\nsystemctl enable --now farrier")
	host.runs("v0.0.2")
	host.stillClaimed(server, "a removal")

	host.answersMachines()
	host.run("dpkg --purge farrier")
	host.prints("ls -d /etc/farrier /var/lib/farrier 2> /dev/null || true", "/var/lib/farrier")
}

// answersMachines has the service do what the unit forbids most others: it answers DHCP and TFTP at their ports, and reads the kernel of the host for the discovery image.
func (h *firstHost) answersMachines() {
	h.t.Helper()
	h.run(`apt-get install --yes ipxe
ip link add eth1 type veth peer name eth2
ip address add 10.1.0.1/24 dev eth1
ip link set eth1 up
ip link set eth2 up
cat > /etc/farrier/farrier.yaml <<END
data-dir: /var/lib/farrier
boot-address: 10.1.0.1:8082
boot-url: http://10.1.0.1:8082
trusted-forwarders: none
discovery-root: /
dhcp: server
dhcp-interface: eth1
dhcp-range: 10.1.0.10-10.1.0.20
END
systemctl restart farrier`)
	h.runs("v0.0.2")
	for _, line := range []string{"discovery image built", "DHCP answers", "TFTP answers"} {
		product.Eventually(h.t, "the journal has a line "+line, func(context.Context) error {
			if journal := h.run("journalctl --unit farrier --no-pager"); !strings.Contains(journal, " "+line+" ") {
				return fmt.Errorf("it has %d lines of others", strings.Count(journal, "\n"))
			}
			return nil
		})
	}
	h.prints("stat --format '%U %a' /var/lib/farrier", "farrier 700")
}

// buildPackage makes the Debian package of a version of this tree, and returns its file.
func buildPackage(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-buildvcs=false", ".", "deb", "--version", version, "--platforms", "linux/"+runtime.GOARCH, "--dist", folder)
	cmd.Dir = filepath.Join(tree(t), "hack", "release")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the package of %s: %v\n%s", version, err, out)
	}
	return filepath.Join(folder, fmt.Sprintf("farrier_%s_%s.deb", strings.TrimPrefix(version, "v"), runtime.GOARCH))
}

// prints fails a test where a script prints something else.
func (h *firstHost) prints(script, want string) {
	h.t.Helper()
	if got := strings.TrimSpace(h.run(script)); got != want {
		h.t.Errorf("%s: prints %q, want %q", script, got, want)
	}
}

// kubectlOnHost is kubectl as docs/debian.md has it.
const kubectlOnHost = "kubectl --kubeconfig /var/lib/farrier/kubeconfig "

// runs waits until the service of a version answers, as the user of the package.
func (h *firstHost) runs(version string) {
	h.t.Helper()
	product.Eventually(h.t, "farrier "+version+" answers", func(context.Context) error {
		if state := strings.TrimSpace(h.try("systemctl is-active farrier")); state != "active" {
			return fmt.Errorf("the service is %s", state)
		}
		// The API answers before Farrier has told it of its kinds.
		if said := h.try("journalctl --no-pager _SYSTEMD_INVOCATION_ID=$(systemctl show --property InvocationID --value farrier)"); !strings.Contains(said, ": Farrier is ready.") {
			return errors.New("it has not said that it is ready")
		}
		return nil
	})
	const process = "$(systemctl show --property MainPID --value farrier)"
	h.prints("stat --format %U /proc/"+process, "farrier")
	if said := h.run("/proc/" + process + "/exe --version"); !strings.HasPrefix(said, "farrier "+version+" (commit ") {
		h.t.Errorf("the service runs %s, want %s", strings.TrimSpace(said), version)
	}
}

// claims claims a server, waits until its machine runs, and returns its name.
func (h *firstHost) claims() string {
	h.t.Helper()
	h.run(kubectlOnHost + `apply --filename - <<END
apiVersion: metal.ironcore.dev/v1alpha1
kind: ServerClaim
metadata: {name: first, namespace: default}
spec: {power: "On", image: "127.0.0.1:5000/farrier/sample:latest"}
END`)
	var name string
	product.Eventually(h.t, "a server runs for the claim", func(context.Context) error {
		claim, server, err := h.claim()
		if err != nil {
			return err
		}
		if claim.Status.Phase != metalv1.ServerClaimPhaseBound || server.Status.State != metalv1.ServerStateReserved || server.Status.PowerState != metalv1.PowerStateOn {
			return fmt.Errorf("the claim is %s, its server %s and %s", claim.Status.Phase, server.Status.State, server.Status.PowerState)
		}
		name = server.Name
		return nil
	})
	return name
}

// claim reads the claim and the server that it has.
func (h *firstHost) claim() (claim metalv1.ServerClaim, server metalv1.Server, err error) {
	if err := json.Unmarshal([]byte(h.try(kubectlOnHost+"get serverclaim first --output json")), &claim); err != nil {
		return claim, server, err
	}
	if claim.Spec.ServerRef == nil {
		return claim, server, fmt.Errorf("the claim has no server: %+v", claim.Status)
	}
	err = json.Unmarshal([]byte(h.try(kubectlOnHost+"get server "+claim.Spec.ServerRef.Name+" --output json")), &server)
	return claim, server, err
}

// stillClaimed fails a test where the claim has lost its server.
func (h *firstHost) stillClaimed(name, after string) {
	h.t.Helper()
	claim, server, err := h.claim()
	if err != nil {
		h.t.Fatalf("after %s: %v", after, err)
	}
	if claim.Status.Phase != metalv1.ServerClaimPhaseBound || server.Name != name || server.Status.State != metalv1.ServerStateReserved {
		h.t.Errorf("after %s the claim is %s, and has %s, which is %s; want %s", after, claim.Status.Phase, server.Name, server.Status.State, name)
	}
}
