package connection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Reasons for which a BMC cannot even be asked; they appear in its Ready
// condition beside those of the contract.
const (
	ReasonEndpointNotFound     = "EndpointNotFound"
	ReasonSecretNotFound       = "SecretNotFound"
	ReasonSecretIncomplete     = "SecretIncomplete"
	ReasonSecretNotAllowed     = "SecretNotAllowed"
	ReasonAddressInvalid       = "AddressInvalid"
	ReasonProtocolNotSupported = "ProtocolNotSupported"
)

// Address is where a BMC object says that its BMC is.
type Address struct {
	IP, MAC string
}

// AddressOf returns the address of a BMC: its own, or that of its Endpoint.
func AddressOf(ctx context.Context, c client.Reader, obj *metalv1.BMC) (Address, error) {
	if a := obj.Spec.Access; a != nil {
		return Address{IP: a.IP, MAC: a.MACAddress}, nil
	}
	if obj.Spec.EndpointRef == nil {
		return Address{}, reconcileerror.Terminalf(ReasonAddressInvalid, "spec: neither access nor endpointRef is set")
	}
	var endpoint metalv1.Endpoint
	if err := c.Get(ctx, client.ObjectKey{Name: obj.Spec.EndpointRef.Name}, &endpoint); err != nil {
		if apierrors.IsNotFound(err) {
			return Address{}, reconcileerror.Terminalf(ReasonEndpointNotFound, "spec.endpointRef: Endpoint %q does not exist", obj.Spec.EndpointRef.Name)
		}
		return Address{}, fmt.Errorf("Endpoint %q: %w", obj.Spec.EndpointRef.Name, err)
	}
	return Address{IP: endpoint.Spec.IP, MAC: endpoint.Spec.MACAddress}, nil
}

// Endpoint makes what the Redfish client dials. An empty scheme means https: credentials
// travel on this connection.
func Endpoint(ip string, protocol metalv1.Protocol) (bmc.Endpoint, error) {
	if name := string(protocol.Name); !strings.HasPrefix(strings.ToLower(name), "redfish") {
		return bmc.Endpoint{}, reconcileerror.Terminalf(ReasonProtocolNotSupported, "spec.protocol.name: %q is not supported, only Redfish is", name)
	}
	host, err := identity.IP(ip)
	if err != nil {
		return bmc.Endpoint{}, reconcileerror.Terminal{Reason: ReasonAddressInvalid, Err: err}
	}
	if protocol.Port < 0 || protocol.Port > 65535 {
		return bmc.Endpoint{}, reconcileerror.Terminalf(ReasonAddressInvalid, "spec.protocol.port: %d is not a port", protocol.Port)
	}
	scheme := strings.ToLower(string(protocol.Scheme))
	switch scheme {
	case "":
		scheme = "https"
	case "http", "https":
	default:
		return bmc.Endpoint{}, reconcileerror.Terminalf(ReasonProtocolNotSupported, "spec.protocol.scheme: %.32q is not supported, only http and https are", protocol.Scheme)
	}
	return bmc.Endpoint{Scheme: scheme, Host: host, Port: int(protocol.Port)}, nil
}

// InlineSpec is how the inline BMC of a Server is reached.
func InlineSpec(server *metalv1.Server, endpoint bmc.Endpoint, credentials bmc.Credentials) fleet.Spec {
	return fleet.Spec{Endpoint: endpoint, Credentials: credentials, Certificate: acceptedCertificate(server)}
}

// Target is everything that the fleet needs to know of a BMC, and where it comes from.
type Target struct {
	fleet.Spec
	Address Address
	// Secret is the BMCSecret; nil if there is none.
	Secret *metalv1.BMCSecret
}

// Resolve brings together what a BMC object refers to. What could be found is there beside an error.
func Resolve(ctx context.Context, c client.Reader, secrets Secrets, obj *metalv1.BMC) (t Target, err error) {
	if t.Address, err = AddressOf(ctx, c, obj); err != nil {
		return t, err
	}
	if t.Endpoint, err = Endpoint(t.Address.IP, obj.Spec.Protocol); err != nil {
		return t, err
	}
	t.Certificate, t.MACAddress = acceptedCertificate(obj), t.Address.MAC
	t.ManagerUUID = identity.MachineUUID(obj.Spec.BMCUUID)
	t.Secret, t.Credentials, err = secrets.Read(ctx, obj.Spec.BMCSecretRef.Name)
	return t, err
}

// SystemOf finds the system that a Server stands for among all of its BMC: the index is -1 where there is none. A UUID that several of them tell
// says nothing about which it is: then the one at the Server's URI is meant, and where that is none of them, shared names them all.
func SystemOf(server *metalv1.Server, systems []fleet.SystemObservation) (found int, shared []string) {
	at := slices.IndexFunc(systems, func(s fleet.SystemObservation) bool {
		return s.URI == server.Spec.SystemURI && server.Spec.SystemURI != ""
	})
	if at >= 0 && (systems[at].Seen.IsZero() || IsSystem(server, systems[at].System) && systems[at].UUID != "") {
		return at, nil // it is there, or cannot be told from what another says
	}
	uuid := identity.MachineUUID(server.Spec.SystemUUID)
	var same []int
	for i := range systems {
		if uuid != "" && systems[i].UUID == uuid {
			same, shared = append(same, i), append(shared, systems[i].URI)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil // it has moved
	case len(same) > 1:
		return -1, shared
	case at >= 0 && IsSystem(server, systems[at].System):
		return at, nil
	}
	return -1, nil
}

// IsSystem reports whether a Server stands for a system of its BMC. The UUID decides where both have one:
// a chassis that loses a blade may give its URI to the next, and that is another machine.
func IsSystem(server *metalv1.Server, system bmc.System) bool {
	uuid := identity.MachineUUID(server.Spec.SystemUUID)
	if uuid != "" && system.UUID != "" {
		return uuid == system.UUID
	}
	return server.Spec.SystemURI != "" && server.Spec.SystemURI == system.URI
}
