package ipxeapi

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestOverriddenByWhateverNamesTheMachine: a boot configuration wins however the assignment selects its machine, once that is known of the
// Server, and of no other machine is it said.
func TestOverriddenByWhateverNamesTheMachine(t *testing.T) {
	const other = "4c4c4544-0043-3510-8052-b7c04f4e4d02"
	for name, c := range map[string]struct {
		selector map[string]string
		want     bool
	}{
		"its UUID":                     {map[string]string{"uuid": uuid}, true},
		"its MAC address":              {map[string]string{"mac": "02-FA-44-00-01-00"}, true},
		"another of its MAC addresses": {map[string]string{"mac": "02fa.4400.0101"}, true},
		"its serial number":            {map[string]string{"serialNumber": "S1"}, true},
		"all of it":                    {map[string]string{"uuid": uuid, "mac": "02:fa:44:00:01:00", "serial": "S1", "buildarch": "arm64"}, true},
		"its serial number, of others": {map[string]string{"uuid": other, "serial": "S1"}, false},
		"its MAC, another serial":      {map[string]string{"mac": "02:fa:44:00:01:00", "serial": "S2"}, false},
		"another UUID":                 {map[string]string{"uuid": other}, false},
		"a placeholder":                {map[string]string{"serial": "To Be Filled By O.E.M."}, false},
		"an attribute":                 {map[string]string{"manufacturer": "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: metalv1.ServerSpec{
				SystemUUID: uuid, BootConfigurationRef: &metalv1.ObjectReference{Namespace: "default", Name: "c"},
			}}
			s := newStand(t, server, newProfile("p", "#!ipxe\n"), newAssignment("a", "p", c.selector))
			s.settle(t, "p:default/p", "a:default/a")
			controllertest.ChangeStatus(t, s.API, "s", func(server *metalv1.Server) {
				server.Status.SerialNumber = "S1"
				server.Status.NetworkInterfaces = []metalv1.NetworkInterface{{Name: "a", MACAddress: "02:fa:44:00:01:00"}, {Name: "b", MACAddress: "02:FA:44:00:01:01"}}
			})
			woken := s.assignments.namingServer(t.Context(), controllertest.Read[metalv1.Server](t, s.API, "s"))
			for range woken {
				s.settle(t, "a:default/a")
			}
			conditions := controllertest.Read[ipxev1.Assignment](t, s.API, "default/a").Status.Conditions
			if got := apimeta.IsStatusConditionTrue(conditions, ipxev1.ConditionOverridden); got != c.want {
				t.Errorf("overridden: %t; woken %v, %+v", got, woken, conditions)
			}
		})
	}
}
