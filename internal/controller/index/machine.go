package index

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Machines returns what names the machine that a boot config is for, in canonical form: its UUID, IP and MAC addresses. What is none of
// these is left out.
func Machines(obj client.Object) []string {
	var uuid string
	var addresses []string
	switch config := obj.(type) {
	case *bootv1.IPXEBootConfig:
		uuid, addresses = config.Spec.SystemUUID, config.Spec.SystemIPs
	case *bootv1.HTTPBootConfig:
		uuid = config.Spec.SystemUUID
		addresses = append(append(addresses, config.Spec.NetworkIdentifiers...), config.Spec.SystemIPs...)
	}
	var found []string
	if canonical := identity.MachineUUID(uuid); canonical != "" {
		found = append(found, canonical)
	}
	for _, address := range addresses {
		if canonical, err := identity.IP(address); err == nil {
			found = append(found, canonical)
		} else if canonical, err := identity.MAC(address); err == nil {
			found = append(found, canonical)
		}
	}
	return found
}
