package connection

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// User is an object that has a BMC asked with the credentials of a BMCSecret.
type User struct {
	Kind, Name string
	// Key is that of its BMC, empty where that cannot be told.
	Key fleet.Key
}

func (u User) String() string { return u.Kind + " " + u.Name }

// UsersOf finds who uses a BMCSecret.
func UsersOf(ctx context.Context, c client.Reader, secret string) ([]User, error) {
	var bmcs metalv1.BMCList
	if err := c.List(ctx, &bmcs, client.MatchingFields{index.BMCBySecret: secret}); err != nil {
		return nil, fmt.Errorf("list the BMCs with BMCSecret %q: %w", secret, err)
	}
	var users []User
	for i := range bmcs.Items {
		u := User{Kind: "BMC", Name: bmcs.Items[i].Name}
		if address, err := AddressOf(ctx, c, &bmcs.Items[i]); err == nil {
			u.Key = keyOf(address.IP, bmcs.Items[i].Spec.Protocol)
		}
		users = append(users, u)
	}
	var servers metalv1.ServerList
	if err := c.List(ctx, &servers, client.MatchingFields{index.ServerByBMCSecret: secret}); err != nil {
		return nil, fmt.Errorf("list the Servers with BMCSecret %q: %w", secret, err)
	}
	for i := range servers.Items {
		inline := servers.Items[i].Spec.BMC
		users = append(users, User{Kind: "Server", Name: servers.Items[i].Name, Key: keyOf(inline.Address, inline.Protocol)})
	}
	return users, nil
}

func keyOf(ip string, protocol metalv1.Protocol) fleet.Key {
	endpoint, err := Endpoint(ip, protocol)
	if err != nil {
		return ""
	}
	return fleet.Key(endpoint.Key())
}
