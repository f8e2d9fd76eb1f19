package acceptance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestSites: machines of three sites, one of them of IPv6 alone, are led to the URL of their own by everything that names
// one: chainload script, script, kernel, initramfs, ignition, UKI.
func TestSites(t *testing.T) {
	port := loopback.Port(t)
	home, away, six := "http://127.0.0.1:"+port, "http://127.0.0.2:"+port, "http://[::1]:"+port
	l := newLab(t, 3)
	if _, err := l.Registry.Push(t.Context(), "uki", "1", localregistry.SmallUKI(5)); err != nil {
		t.Fatal(err)
	}
	p := l.up(t, "--boot-address", "[::]:"+port, "--boot-url", home, "--boot-url", "away="+away, "--boot-url", "away=http://[::1]:"+port+"/",
		"--boot-url", "six="+six, "--default-httpboot-oci-image", l.Registry.Reference("uki", "1"))
	l.BootURL.Store(home)
	l.discover(p)
	servers := make([]string, 0, 3)
	for _, info := range l.BMCs() {
		servers = append(servers, info.Name+"-system-0")
	}
	p.label(servers[1], "away")
	p.label(servers[2], "six")
	for i, c := range []struct{ name, repository, base string }{{"home", "os", home}, {"away", "os", away}, {"six", "uki", six}} {
		l.ignition(p, c.name, "ignition")
		l.claim(p, c.name, func(claim *metalv1.ServerClaim) {
			claim.Spec.ServerRef, claim.Spec.Image = &metalv1.LocalObjectReference{Name: servers[i]}, l.Registry.Reference(c.repository, "1")
		})
		kinds := []sim.What{sim.WhatKernel, sim.WhatInitramfs, sim.WhatIgnition}
		if c.repository == "uki" {
			kinds = []sim.What{sim.WhatUKI}
		}
		p.fetchesFrom(l.Machine(i), c.base, kinds)
	}
	p.ledTo(l, home, away, six)
}

// ledTo asks as machines and DHCP servers do.
func (p *running) ledTo(l *lab, home, away, six string) {
	p.t.Helper()
	uuid := func(i int) string { return l.Machine(i).UUID() }
	mac := func(i int) string { return l.Machine(i).MAC() }
	service := func(base string) string { return "set ipxe-svc " + base + "\n" }
	uki := func(base string) string { return `"UKIURL":"` + base + "/httpboot/" }
	for _, c := range []struct{ name, asked, path, forwarded, want string }{
		{"chainload", home, "/ipxe", "", service(home)},
		{"chainload of a site", away, "/ipxe", "", service(away)},
		{"chainload over IPv6, of two sites", six, "/ipxe", "", service(home)},
		{"script", home, "/ipxe/" + uuid(0), "", service(home)},
		{"script, whichever server is asked", home, "/ipxe/" + uuid(1), "", service(away)},
		{"script over IPv6", six, "/ipxe/" + uuid(1), "", service(six)},
		{"script over IPv6 where there is none", six, "/ipxe/" + uuid(0), "", service(home)},
		{"kernel over IPv6", six, "/ipxe/" + uuid(1), "", "set kernel-url " + six + "/image?"},
		{"UKI", home, "/httpboot", mac(2), uki(six)},
		{"default UKI", home, "/httpboot", "192.0.2.99", uki(home)},
		{"default UKI of a site", away, "/httpboot", "192.0.2.99", uki(away)},
	} {
		p.Eventually(c.name, func(ctx context.Context) error {
			_, body, err := ask(ctx, http.MethodGet, c.asked+c.path, http.Header{"X-Forwarded-For": {c.forwarded}})
			if err == nil && !strings.Contains(body, c.want) {
				err = fmt.Errorf("no %q in %s", c.want, body)
			}
			return err
		})
	}
	// The UKI of a site with both families is at the URL of the one in which the machine boots.
	both := &bootv1.HTTPBootConfig{ObjectMeta: objectMeta("default", "away")}
	if err := p.Get(p.t.Context(), client.ObjectKeyFromObject(both), both); err == nil {
		p.t.Fatalf("an image without a UKI made %+v", both.Spec)
	}
	p.setImage(&metalv1.ServerClaim{ObjectMeta: objectMeta("default", "away")}, l.Registry.Reference("uki", "1"))
	for forwarded, base := range map[string]string{mac(1): away, "192.0.2.98," + mac(1): away, "fe80::98%eth0," + mac(1): six} {
		p.Eventually("UKI for "+forwarded, func(ctx context.Context) error {
			_, body, err := ask(ctx, http.MethodGet, home+"/httpboot", http.Header{"X-Forwarded-For": {forwarded}})
			if want := uki(base); err == nil && (!strings.Contains(body, want) || !strings.Contains(body, uuid(1))) {
				err = fmt.Errorf("no %s in %s", want, body)
			}
			return err
		})
	}
}

// fetchesFrom waits until a machine has fetched these in its newest boot, and looks where.
func (p *running) fetchesFrom(m *sim.Machine, base string, kinds []sim.What) {
	p.t.Helper()
	for _, what := range kinds {
		p.Eventually("the "+string(what)+" is fetched", func(context.Context) error {
			records := m.Record()
			fetch, ok := records[len(records)-1].Fetched(what)
			if !ok || !strings.HasPrefix(fetch.URL, base+"/") {
				return fmt.Errorf("%+v, want it from %s", fetch, base)
			}
			return nil
		})
	}
}

func (p *running) label(server, site string) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, metalv1.LabelSite, site)
	s := &metalv1.Server{ObjectMeta: objectMeta("", server)}
	if err := p.Patch(p.t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		p.t.Fatal(err)
	}
}

// ask makes a request that follows no redirect; the body is whole.
func ask(ctx context.Context, method, url string, header http.Header) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, "", err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	client := http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}
