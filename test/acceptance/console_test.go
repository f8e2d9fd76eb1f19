package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/product"
)

// TestConsole: the serial console of a simulated server, typed at by one and watched by another who may do no more, in the built program.
func TestConsole(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--sim", "2", "--sim-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0",
		"--sim-vendor", "dell,lenovo", "--sim-admin-address", "127.0.0.1:0", "--record-consoles")
	// Claimed servers stay on; those that are being discovered are switched off in the middle of a word.
	var names []string
	for _, name := range []string{"first", "second"} {
		claim := &metalv1.ServerClaim{ObjectMeta: objectMeta("default", name)}
		claim.Spec.Power, claim.Spec.Image = metalv1.PowerOn, p.Registry+"/farrier/sample:latest"
		p.create(claim)
		names = append(names, p.bound(name))
		p.serverIs(names[len(names)-1], metalv1.ServerStateReserved, metalv1.PowerStateOn)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { usesConsole(t, p, name) })
	}
	t.Run("recorded", func(t *testing.T) { consoleRecorded(t, p, names[0]) })
	t.Run("refused", func(t *testing.T) { consoleRefused(t, p, names[0]) })
}

// consoleRecorded: the timeline has what the console printed in the boot of the claim, without what opens its ignition.
func consoleRecorded(t *testing.T, p *running, name string) {
	p.Eventually("the console in the timeline", func(context.Context) error {
		stdout, stderr, code := product.Ask(t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, "-o", "json", name)
		var got told
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
			return fmt.Errorf("%w, exit code %d: %s", err, code, stderr)
		}
		var printed []string
		for _, e := range got.Entries {
			if e.Kind == "console" && e.Attempt != "" {
				printed = append(printed, e.Detail)
			}
		}
		text := strings.Join(printed, "\n")
		if strings.Contains(strings.ReplaceAll(text, "token=[redacted]", ""), "token=") {
			t.Errorf("a token is in the logbook: %s", text)
		}
		if !strings.Contains(text, "/ipxe/") {
			return fmt.Errorf("recorded: %s", text)
		}
		return nil
	})
}

func usesConsole(t *testing.T, p *running, name string) {
	writer := product.TalkTo(t, product.Farrier, "console", "--kubeconfig", p.Kubeconfig, name)
	writer.Until("connected to the console of " + name)
	writer.Until("you write")
	writer.Until("Power-on self test")
	reader := product.TalkTo(t, product.Farrier, "console", "--kubeconfig", p.Kubeconfig, name, "--read-only")
	reader.Until("writes, you read")
	reader.Until("Power-on self test") // the scroll-back
	writer.Type("who is there\r~?")
	writer.Until("~.  leave the console")
	reader.Until("who is there")

	second := product.TalkTo(t, product.Farrier, "console", "--kubeconfig", p.Kubeconfig, name)
	second.Until("writes, you read")
	second.Type("not me\r")
	second.Until("you read only")
	second.Type("\r~w")
	second.Until("you write")
	second.Type("now me\r")
	reader.Until("now me")
	if strings.Contains(reader.Said(), "not me") {
		t.Errorf("two people write: %s", reader.Said())
	}
	for _, talk := range []*product.Talk{writer, second} {
		talk.Type("\r~.")
		if code := talk.Ends(); code != 0 {
			t.Errorf("exit code %d: %s", code, talk.Said())
		}
	}
	if strings.Contains(reader.Said(), "\x1b") {
		t.Errorf("a file is written what controls terminals: %q", reader.Said())
	}
}

func consoleRefused(t *testing.T, p *running, name string) {
	dir := t.TempDir()
	none := p.kubeconfigOf(t, dir, "no-console", true)
	reads := p.kubeconfigOf(t, dir, "reads-console", true)
	p.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "console-reader"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get"}, APIGroups: []string{metalv1.GroupVersion.Group}, Resources: []string{"servers/console"}, ResourceNames: []string{name},
	}}})
	p.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "console-reader"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "console-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "reads-console"}},
	})
	at := []string{"--operator-url", p.Operator, "--operator-ca", p.OperatorCA}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no server", []string{"--kubeconfig", p.Kubeconfig, "nobody"}, 1, `there is no Server "nobody"`},
		{"none named", []string{"--kubeconfig", p.Kubeconfig}, 2, "the name of one server"},
		{"reads and takes", []string{"--kubeconfig", p.Kubeconfig, name, "--read-only", "--take"}, 2, "--read-only"},
		{"no right", append([]string{"--kubeconfig", none, name, "--read-only"}, at...), 1, `"get" on servers/console`},
		{"right to read", append([]string{"--kubeconfig", reads, name}, at...), 1, `"create" on servers/console`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := product.Ask(t, product.Farrier, append([]string{"console"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want %d and %q: %s%s", code, c.code, c.want, stdout, stderr)
			}
		})
	}
	reader := product.TalkTo(t, product.Farrier, append([]string{"console", "--kubeconfig", reads, name, "--read-only"}, at...)...)
	reader.Until("Power-on self test")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Operator+"/console/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(r); err == nil {
		_ = answer.Body.Close()
		t.Errorf("who trusts nothing is answered %s", answer.Status)
	}
}
