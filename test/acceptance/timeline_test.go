package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// told is what `farrier timeline -o json` prints, as far as it is looked at here.
type told struct {
	Server, SystemUUID, State, Claim string
	Entries                          []struct {
		Kind, What, Object, Attempt, Address, Detail string
		Status                                       int
		Bytes                                        int64
	}
	Missing []string
}

// TestTimeline: what a machine that was discovered, claimed and booted asked for and was given, with nothing but the kubeconfig; and what
// somebody is told who may not know, or asks wrongly.
func TestTimeline(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.discover(p)
	l.ignition(p, "web", "ignition")
	l.claim(p, "web")
	name := p.bound("web")
	p.boots(l.machine(p, name), sim.OutcomeInstalled)
	server := p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	for _, asked := range []string{name, strings.ToUpper(server.Spec.SystemUUID)} {
		p.Eventually("the timeline of "+asked, func(context.Context) error { return l.tellsBoot(p, asked, name) })
	}
	stdout, stderr, code := product.Ask(t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, "--utc", name)
	t.Logf("%s", stdout)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "Server "+name+", "+server.Spec.SystemUUID+", state Reserved, power On, claim default/web\n") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	other := "ffffffff-0043-3510-8052-b7c04f4e4d32"
	if stdout, stderr, code = product.Ask(t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, other); code != 0 || !strings.Contains(stdout, "for which there is no Server") {
		t.Errorf("of a machine that nobody knows: exit code %d: %s%s", code, stdout, stderr)
	}
	t.Run("refused", func(t *testing.T) { timelineRefused(t, p, name) })

	p.Kill()
	p = l.up(t)
	p.Eventually("the timeline after a restart", func(context.Context) error { return l.tellsWhatWas(p, name) })
}

// tellsWhatWas reports whether the timeline tells of what only the logbook knows: commands, earlier states, and requests from before a restart.
func (l *lab) tellsWhatWas(p *running, name string) error {
	stdout, stderr, code := product.Ask(p.t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, "-o", "json", name)
	var got told
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		return fmt.Errorf("%v, exit code %d: %s", err, code, stderr)
	}
	want := map[string]string{"state Discovery": "state", "state Reserved": "state", "power On": "state", "claimed": "state", "squashfs": "request", "ignition": "request", "probe report": "report"}
	on, off := false, false
	for _, e := range got.Entries {
		if want[e.What] == e.Kind {
			delete(want, e.What)
		}
		on = on || e.Kind == "command" && strings.HasPrefix(e.Detail, "POST ") && strings.Contains(e.Detail, "ComputerSystem.Reset: 20")
		off = off || e.Kind == "command" && strings.HasPrefix(e.Detail, "PATCH ")
	}
	if len(want) > 0 || !on || !off {
		return fmt.Errorf("not told: %v, reset %v, boot override %v:\n%s", want, on, off, stdout)
	}
	return nil
}

// tellsBoot reports whether the timeline tells of the discovery and of the boot of the claim, in their order.
func (l *lab) tellsBoot(p *running, asked, name string) error {
	stdout, stderr, code := product.Ask(p.t, product.Farrier, "timeline", "--kubeconfig", p.Kubeconfig, "-o", "json", asked)
	var got told
	if code != 0 {
		return fmt.Errorf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		return err
	}
	if got.Server != name || got.State != string(metalv1.ServerStateReserved) || got.Claim != "default/web" || len(got.Missing) > 0 {
		return fmt.Errorf("about %+v", got)
	}
	var config metalv1.ServerBootConfiguration
	if err := p.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &config); err != nil {
		return err
	}
	want := []string{
		"chainload script", "script", "kernel", "initramfs", "squashfs", "ignition", "probe report", // discovery
		"boot ordered", "chainload script", "script", "kernel", "initramfs", "squashfs", "ignition",
	}
	attempts, on := map[string]bool{}, false
	for _, e := range got.Entries {
		on = on || e.Kind == "boot" && e.What == "seen on" // by a poll of the BMC: before the first request, or after the last
		if len(want) == 0 || e.What != want[0] || e.Kind != "request" && e.Kind != "report" && e.Kind != "boot" {
			continue
		}
		want = want[1:]
		attempts[e.Attempt] = true
		status := http.StatusOK
		if e.Kind == "report" {
			status = http.StatusCreated
		}
		if e.Kind != "boot" && (e.Status != status || e.Bytes == 0 || !strings.HasPrefix(e.Address, "127.")) {
			return fmt.Errorf("a request: %+v", e)
		}
	}
	if len(want) > 0 || len(attempts) != 2 || attempts[""] || !on {
		return fmt.Errorf("not told, in this order: %v, of attempts %v, seen on %v:\n%s", want, attempts, on, stdout)
	}
	return nil
}

func timelineRefused(t *testing.T, p *running, name string) {
	impostor := httptest.NewTLSServer(http.NotFoundHandler())
	defer impostor.Close()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.pem")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	sees, seesNot := p.kubeconfigOf(t, dir, "sees", true), p.kubeconfigOf(t, dir, "sees-not", false)
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"no server", []string{"nobody"}, 1, []string{`there is no Server "nobody"`}},
		{"none named", nil, 2, []string{"the name or the UUID of one Server"}},
		{"unknown output", []string{name, "-o", "xml"}, 2, []string{"--output"}},
		{"no such kubeconfig", []string{name, "--kubeconfig", filepath.Join(dir, "none")}, 1, []string{"--kubeconfig"}},
		{"no such context", []string{name, "--context", "none"}, 1, []string{"--context", `"none"`}},
		{"not reachable", []string{name, "--operator-url", "https://127.0.0.1:1"}, 1, []string{"--operator-url: https://127.0.0.1:1", "refused"}},
		{"no URL", []string{name, "--operator-url", "127.0.0.1:1"}, 1, []string{"--operator-url"}},
		{"not published", []string{name, "--manager-namespace", "default"}, 1, []string{"--operator-url", "ConfigMap default/farrier-operator", "--manager-namespace"}},
		{"no such CA file", []string{name, "--operator-ca", filepath.Join(dir, "none")}, 1, []string{"--operator-ca"}},
		{"CA file without certificates", []string{name, "--operator-ca", garbage}, 1, []string{"--operator-ca"}},
		{"an impostor", []string{name, "--operator-url", impostor.URL, "--operator-ca", p.OperatorCA}, 1, []string{"--operator-ca", "not trusted"}},
		{"may not see Servers", []string{name, "--kubeconfig", seesNot, "--operator-url", p.Operator}, 1, []string{"--kubeconfig", "forbidden"}},
		{"may not find the address", []string{name, "--kubeconfig", sees}, 1, []string{"--operator-url is required", "may not read ConfigMap farrier-system/farrier-operator"}},
		{"may not see boots", []string{name, "--kubeconfig", sees, "--operator-url", p.Operator, "--operator-ca", p.OperatorCA}, 1, []string{"--kubeconfig", "/boots/", "nonResourceURLs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"timeline", "--kubeconfig", p.Kubeconfig}, c.args...) // the last one given counts
			stdout, stderr, code := product.Ask(t, product.Farrier, args...)
			t.Log(stderr)
			if code != c.code || stdout != "" {
				t.Errorf("exit code %d, want %d; printed %q", code, c.code, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("does not say %q: %s", want, stderr)
				}
			}
		})
	}
}

// kubeconfigOf writes the kubeconfig of a service account, which may see Servers or nothing.
func (p *running) kubeconfigOf(t *testing.T, dir, name string, sees bool) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: objectMeta("default", name)}
	p.create(account)
	if sees {
		p.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{metalv1.GroupVersion.Group}, Resources: []string{"servers"}}}})
		p.create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
		})
	}
	request := &authenticationv1.TokenRequest{}
	if err := p.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for user := range config.AuthInfos {
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	file := filepath.Join(dir, name)
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
