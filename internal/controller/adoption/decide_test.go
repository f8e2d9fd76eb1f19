package adoption

import (
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

var (
	here  = netip.MustParseAddr("192.0.2.100")
	there = netip.MustParseAddr("198.51.100.100")
)

const dell = "d0:43:1e:00:00:01"

func sighting(held ...netip.Addr) dhcp.Sighting {
	return dhcp.Sighting{Client: dhcp.Client{MAC: dell}, Addr: held[0], Held: held, Addresses: 3}
}

func endpoint(change func(*metalv1.Endpoint)) metalv1.Endpoint {
	e := metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: nameOf(dell), Labels: map[string]string{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP}}}
	e.Spec.MACAddress, e.Spec.IP = dell, here.String()
	if change != nil {
		change(&e)
	}
	return e
}

func TestDecide(t *testing.T) {
	if got := nameOf("d0:43:1e:0a:0b:0c"); got != "bmc-d0431e0a0b0c" {
		t.Errorf("name %q", got)
	}
	adopted := []metalv1.Endpoint{endpoint(nil)}
	for name, c := range map[string]struct {
		facts  facts
		action action
		reason string
	}{
		"a new BMC":                           {facts{seen: sighting(here)}, create, reasonAdopted},
		"the last one that there is room for": {facts{seen: sighting(here), adopted: 2}, create, reasonAdopted},
		"one more than there are addresses":   {facts{seen: sighting(here), adopted: 3}, nothing, reasonFull},
		"more addresses than Farrier adopts":  {facts{seen: dhcp.Sighting{Addresses: 1 << 16}, adopted: maxAdopted}, nothing, reasonFull},
		"the network card of a Server":        {facts{seen: sighting(here), machine: true}, nothing, reasonMachine},
		"a BMC that somebody has made":        {facts{seen: sighting(here), bmc: true}, nothing, reasonBMCExists},
		"the name is taken":                   {facts{seen: sighting(here), named: true}, nothing, reasonNameTaken},
		"adopted already":                     {facts{seen: sighting(here), same: adopted}, nothing, reasonUpToDate},
		"adopted, and there is no more room":  {facts{seen: sighting(there), same: adopted, adopted: 9}, move, reasonMoved},
		"the lease has moved":                 {facts{seen: sighting(there), same: adopted}, move, reasonMoved},
		"a second address":                    {facts{seen: sighting(there, here), same: adopted}, nothing, reasonUpToDate},
		"somebody emptied its address":        {facts{seen: sighting(here), same: []metalv1.Endpoint{endpoint(func(e *metalv1.Endpoint) { e.Spec.IP = "" })}}, move, reasonMoved},
		"somebody else's Endpoint":            {facts{seen: sighting(there), same: []metalv1.Endpoint{endpoint(func(e *metalv1.Endpoint) { e.Labels = nil })}}, nothing, reasonForeign},
		"another's way to adopt":              {facts{seen: sighting(there), same: []metalv1.Endpoint{endpoint(func(e *metalv1.Endpoint) { e.Labels[metalv1.LabelAdopted] = "lldp" })}}, nothing, reasonForeign},
		"ours and somebody else's":            {facts{seen: sighting(there), same: []metalv1.Endpoint{endpoint(nil), endpoint(func(e *metalv1.Endpoint) { e.Labels = nil })}}, nothing, reasonForeign},
		"ours, to be ignored": {facts{seen: sighting(there), same: []metalv1.Endpoint{endpoint(func(e *metalv1.Endpoint) {
			metav1.SetMetaDataAnnotation(&e.ObjectMeta, metalv1.AnnotationOperation, metalv1.OperationIgnore)
		})}}, nothing, reasonIgnored},
		"ours, about to be deleted":           {facts{seen: sighting(there), same: []metalv1.Endpoint{endpoint(func(e *metalv1.Endpoint) { e.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} })}}, nothing, reasonIgnored},
		"a card of a Server that was adopted": {facts{seen: sighting(there), same: adopted, machine: true}, move, reasonMoved},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(c.facts)
			if p.action != c.action || p.reason != c.reason || (p.action == move) != (p.endpoint != nil) {
				t.Errorf("got %+v", p)
			}
		})
	}
}
