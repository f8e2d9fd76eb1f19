package page

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/place"
)

func unescape(text string) string { return html.UnescapeString(text) }

func refOf(name string) *metalv1.ImmutableObjectReference {
	return &metalv1.ImmutableObjectReference{Namespace: "default", Name: name}
}

func objectOf(name string) *metalv1.ObjectReference {
	return &metalv1.ObjectReference{Namespace: "default", Name: name}
}

const maxPage = 200 << 10

// TestTenThousandServers: pages stay small, and their links lead through all servers.
func TestTenThousandServers(t *testing.T) {
	const many = 10000
	var objects []client.Object
	for i := range many {
		s := serverOf(i, states[i%len(states)])
		s.Labels[place.LabelRack] = fmt.Sprintf("rack-%d", i/40)
		if i%9 == 8 {
			s.Status.Conditions = append(s.Status.Conditions, condition(metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", strings.Repeat("it did not report ", 5), 0))
		}
		objects = append(objects, s)
	}
	s := sourceOf(t, objects...)
	for name, v := range pagesOf(t, s) {
		if n := len(htmlOf(t, v)); n > maxPage {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	for _, view := range []string{"", "racks"} {
		seen, pages, next := 0, 0, url.Values{"view": {view}}
		for ; next != nil; pages++ {
			v, err := Servers(t.Context(), s, next)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(htmlOf(t, v)); n > maxPage {
				t.Fatalf("view %q, page %d: %d bytes", view, pages, n)
			}
			p := v.data.(serversPage)
			seen += p.Pager.To - p.Pager.From + 1
			if next = nil; p.Pager.Next != "" && pages < 3 { // each costs a diagnosis of all
				_, query, _ := strings.Cut(p.Pager.Next, "?")
				if next, err = url.ParseQuery(query); err != nil {
					t.Fatal(err)
				}
			} else if p.Pager.To != seen {
				t.Errorf("view %q: %d servers seen, and the page says that it ends at %d", view, seen, p.Pager.To)
			}
		}
	}
	v, err := Servers(t.Context(), s, url.Values{"page": {"100000"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := v.data.(serversPage); p.Pager.To != many || p.Pager.Next != "" {
		t.Errorf("the last page: %+v", p.Pager)
	}
}

// TestHostileNames: what machines, switches and registries call themselves is neither markup nor a command to whoever reads it.
func TestHostileNames(t *testing.T) {
	const evil = "\"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;owned\a\u202etxt'"
	s := fleet(t)
	server, b, claim, boot := serverOf(0, "Reserved"), bmcOf(0), claimOf("web", "node-0", true), bootOf("node-0", "default", 0, false)
	for _, text := range []*string{
		&server.Status.Manufacturer, &server.Status.Model, &server.Status.SerialNumber, &server.Status.BIOSVersion, &server.Status.SKU, &server.Status.Processors[0].ID, &server.Status.Processors[0].Model,
		&server.Status.NetworkInterfaces[0].Name, &server.Status.NetworkInterfaces[0].MACAddress, &server.Status.NetworkInterfaces[0].CarrierStatus, &server.Status.NetworkInterfaces[0].IPs[0],
		&server.Status.NetworkInterfaces[0].Neighbors[0].SystemName, &server.Status.NetworkInterfaces[0].Neighbors[0].SystemDescription, &server.Status.NetworkInterfaces[0].Neighbors[0].PortID,
		&server.Status.NetworkInterfaces[0].Neighbors[0].PortDescription, &server.Status.Storages[0].Name, &server.Status.Storages[0].Drives[0].Model, &server.Status.Storages[0].Drives[0].SerialNumber,
		&server.Status.Conditions[0].Reason, &server.Status.Conditions[0].Message, (*string)(&server.Status.PowerState), &server.Spec.SystemUUID,
		&b.Status.Manufacturer, &b.Status.Model, &b.Status.FirmwareVersion, &b.Status.SerialNumber, &b.Status.IP, &b.Status.MACAddress, (*string)(&b.Status.State), &b.Status.Conditions[0].Message,
		&claim.Spec.Image, &claim.Spec.IgnitionSecretRef.Name, &claim.Status.Conditions[0].Message, &boot.Spec.Image, &boot.Status.ImageDigest,
	} {
		*text = evil
	}
	server.Labels[place.LabelRack], server.Labels[place.LabelZone] = evil, evil
	server.Spec.ServerClaimRef, server.Spec.BootConfigurationRef = refOf("web"), objectOf("node-0")
	s.Objects = sourceOf(t, server, b, claim, boot, cleanupOf(t, "node-0")).Objects
	pages := pagesOf(t, s)
	for name, query := range map[string]url.Values{"search": {"q": {evil}, "label": {evil}, "rack": {evil}, "state": {evil}}, "found": {"q": {"node"}, "view": {"racks"}}} {
		v, err := Servers(t.Context(), s, query)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = v
	}
	for name, v := range pages {
		text := htmlOf(t, v)
		for _, bad := range []string{"<script>alert", "<img", "\x1b", "\a"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %q in the page", name, bad)
			}
		}
	}
	if text := htmlOf(t, pages["server"]); !strings.Contains(text, "&lt;script&gt;") || strings.Contains(text, "\u202e") {
		t.Error("the page of the server does not show the names, or turns its text around")
	}
}

// BenchmarkServers is a page of ten thousand servers, without the time of the API.
func BenchmarkServers(b *testing.B) {
	const many = 10000
	var all metalv1.ServerList
	for i := range many {
		all.Items = append(all.Items, *serverOf(i, states[i%len(states)]))
	}
	s := Source{Objects: listed{&all}, Now: now, Manager: managerNamespace}
	for b.Loop() {
		v, err := Servers(b.Context(), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(htmlOf(b, v))), "bytes/page")
	}
}

// listed is an API that has Servers alone.
type listed struct{ servers *metalv1.ServerList }

func (l listed) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return ErrNotFound
}

func (l listed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if servers, ok := into.(*metalv1.ServerList); ok {
		*servers = *l.servers
	}
	return nil
}
