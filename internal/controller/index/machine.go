package index

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Machines returns what names the machine that a boot config is for, in canonical form: its UUID, IP and MAC addresses. What is none of
// these is left out.
func Machines(obj client.Object) []string {
	config := bootmethod.ConfigOf(obj)
	if config == nil {
		return nil
	}
	var found []string
	if canonical := identity.MachineUUID(config.SystemUUID); canonical != "" {
		found = append(found, canonical)
	}
	for _, address := range config.AllAddresses() {
		if canonical, err := identity.IP(address); err == nil {
			found = append(found, canonical)
		} else if canonical, err := identity.MAC(address); err == nil {
			found = append(found, canonical)
		}
	}
	return found
}
