package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// uniqueMAC refuses a MAC address, however it is spelled, that another Endpoint has. None is no duplicate of none.
func uniqueMAC(ctx context.Context, c *check, now, before *metalv1.Endpoint) error {
	mac := index.MAC(now.Spec.MACAddress)
	if mac == "" || mac == index.MAC(before.Spec.MACAddress) {
		return nil
	}
	others, err := holders(ctx, c, &metalv1.EndpointList{}, index.EndpointByMAC, mac, blank[metalv1.Endpoint], func(o *metalv1.Endpoint) bool {
		return index.MAC(o.Spec.MACAddress) == mac
	})
	if err != nil || len(others) == 0 {
		return err
	}
	c.refuse(field.Invalid(field.NewPath("spec", "macAddress"), now.Spec.MACAddress, "Endpoint \""+others[0].Name+"\" has the same MAC address "+mac))
	return nil
}
