package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// managerNamespace is that of the product.
const managerNamespace = "farrier-system"

var tokenInURL = regexp.MustCompile(`/probe/([A-Za-z0-9_-]{43})`)

// token is that of the open discovery of a server, as its probe reads it.
func (p *running) token(server string) string {
	p.t.Helper()
	var token string
	p.Eventually("server "+server+" is booted to be discovered", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: server}, &s); err != nil {
			return err
		}
		var config metalv1.ServerBootConfiguration
		if err := p.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: server}, &config); err != nil {
			return err
		}
		if text := config.Annotations[metalv1.AnnotationBootAttempt]; !strings.Contains(text, `"started"`) {
			return fmt.Errorf("the attempt is %q", text)
		}
		var secret corev1.Secret
		if err := p.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: config.Spec.IgnitionSecretRef.Name}, &secret); err != nil {
			return err
		}
		found := tokenInURL.FindSubmatch(secret.Data["ignition"])
		if found == nil {
			return errors.New("its ignition has no token")
		}
		token = string(found[1])
		return nil
	})
	return token
}

// posts sends what a probe on a machine would, and returns the status.
func (p *running) posts(from *sim.Machine, path, body string) int {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Boot+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := testlab.CallerAt(from.IP()).Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

var kernelInScript = regexp.MustCompile(`set kernel-url (\S+)`)

// fetches has a machine's script, and the kernel that this names, fetched from its address, while its own firmware does not.
func (p *running) fetches(m *sim.Machine) {
	p.t.Helper()
	get := func(url string) string {
		request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		response, err := testlab.CallerAt(m.IP()).Do(request)
		if err != nil {
			p.t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			p.t.Fatalf("%s: %s, %v", url, response.Status, err)
		}
		return string(text)
	}
	kernel := kernelInScript.FindStringSubmatch(get(p.Boot + "/ipxe/" + m.UUID()))
	if kernel == nil {
		p.t.Fatal("the script names no kernel")
	}
	get(kernel[1])
}

// onRecord is the version of the record of a server's inspection; empty: there is none.
func (p *running) onRecord(server string) string {
	p.t.Helper()
	var record corev1.ConfigMap
	err := p.Get(p.t.Context(), client.ObjectKey{Namespace: managerNamespace, Name: server + "-inspection"}, &record)
	if err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatal(err)
	}
	return record.ResourceVersion
}

func reportOf(uuid, agent string) string {
	return fmt.Sprintf(`{"systemUUID":%q,"data":{"timestamp":"2026-01-02T03:04:05Z","agentVersion":%q}}`, uuid, agent)
}

// TestWhoseReportsAreTaken: whoever reports has to hold the token of the boot that is open, for the machine that was booted.
// What is refused leaves nothing behind, and a report that was taken is not replaced by a later one.
func TestWhoseReportsAreTaken(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.BootURL.Store("http://127.0.0.1:1") // neither machine boots, and neither reports by itself
	for _, info := range l.BMCs() {
		l.endpoint(p, info)
	}
	name, other := l.BMCs()[0].Name+"-system-0", l.BMCs()[1].Name+"-system-0"
	uuid, otherUUID := l.Machine(0).UUID(), l.Machine(1).UUID()
	token, otherToken := p.token(name), p.token(other)
	if token == otherToken {
		t.Fatal("two machines have one token")
	}
	p.fetches(l.Machine(0))
	forged := []byte(token)
	if forged[0]++; forged[0] > 'z' || forged[0] == '[' || forged[0] == ':' {
		forged[0] = 'A'
	}
	for _, tc := range []struct {
		name, path, body string
		status           int
	}{
		{"forged", "/probe/" + string(forged) + "/register", reportOf(uuid, "x"), 401},
		{"no token at all", "/register", reportOf(uuid, "x"), 401},
		{"the UUID in its place", "/probe/" + uuid + "/register", reportOf(uuid, "x"), 401},
		{"another server's", "/probe/" + otherToken + "/register", reportOf(uuid, "x"), 403},
		{"boot state, forged", "/probe/" + string(forged) + "/bootstate", fmt.Sprintf(`{"systemUUID":%q,"booted":true}`, uuid), 401},
		{"boot state, another server's", "/probe/" + otherToken + "/bootstate", fmt.Sprintf(`{"systemUUID":%q,"booted":true}`, uuid), 403},
		{"no JSON", "/probe/" + token + "/register", "hello", 400},
		{"a UUID that is none", "/probe/" + token + "/register", reportOf("x", "x"), 400},
		{"too large", "/probe/" + token + "/register", reportOf(uuid, strings.Repeat("x", 4<<20)), 413},
	} {
		if got := p.posts(l.Machine(0), tc.path, tc.body); got != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.status)
		}
	}
	for _, s := range []string{name, other} {
		if p.onRecord(s) != "" {
			t.Fatalf("something is on record of %s", s)
		}
	}
	if got := p.posts(l.Machine(0), "/probe/"+token+"/register", reportOf(uuid, "right")); got != 201 {
		t.Fatalf("the right token: %d", got)
	}
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	record := p.onRecord(name)

	// The token is spent. Whoever did not hear the answer may ask again, and changes nothing by it.
	if got := p.posts(l.Machine(0), "/probe/"+token+"/register", reportOf(uuid, "later")); got != 201 {
		t.Errorf("asked again: %d", got)
	}
	if got := p.posts(l.Machine(0), "/probe/"+token+"/register", reportOf(otherUUID, "later")); got != 401 {
		t.Errorf("asked again for another machine: %d", got)
	}
	p.Kill()
	p = l.up(t)
	p.observed(name)
	if got := p.posts(l.Machine(0), "/probe/"+token+"/register", reportOf(uuid, "stale")); got != 401 {
		t.Errorf("stale: %d", got)
	}
	if now := p.onRecord(name); now != record {
		t.Errorf("the record was written again: %s, before %s", now, record)
	}
	// The one that is open outlives the process.
	if got := p.posts(l.Machine(1), "/probe/"+otherToken+"/register", reportOf(otherUUID, "right")); got != 201 {
		t.Errorf("the other's, which is open: %d", got)
	}
	p.serverIs(other, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestReportsWithoutToken: that they are taken is warned of; a machine that nobody knows is told so, and one that is not being booted is
// told to come again.
func TestReportsWithoutToken(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--allow-unauthenticated-probe")
	l.discover(p)
	if !strings.Contains(p.Log(), "flag=--allow-unauthenticated-probe") {
		t.Error("nothing warns of it")
	}
	const nobodys = "00000000-1111-2222-3333-444444444444"
	machine := l.Machine(0)
	for path, field := range map[string]string{"/register": `"data":{}`, "/bootstate": `"booted":true`} {
		for uuid, want := range map[string]int{nobodys: http.StatusNotFound, machine.UUID(): http.StatusServiceUnavailable} {
			if got := p.posts(machine, path, fmt.Sprintf(`{"systemUUID":%q,%s}`, uuid, field)); got != want {
				t.Errorf("%s of %s: %d, want %d", path, uuid, got, want)
			}
		}
	}
}
