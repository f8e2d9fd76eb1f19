package page

import (
	"context"
	"net/url"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// list is a page of names.
func (s Source) list(ctx context.Context, title, section string, into client.ObjectList, names func() []string) (View, error) {
	if err := s.Objects.List(ctx, into); err != nil {
		return View{}, err
	}
	return view(title, section, "names", names()), nil
}

// Overview counts what there is.
func Overview(ctx context.Context, s Source) (View, error) {
	return servers(ctx, s, "Overview", "overview")
}

// Servers lists servers.
func Servers(ctx context.Context, s Source, _ url.Values) (View, error) {
	return servers(ctx, s, "Servers", "servers")
}

func servers(ctx context.Context, s Source, title, section string) (View, error) {
	var all metalv1.ServerList
	return s.list(ctx, title, section, &all, func() (names []string) {
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
		return names
	})
}

// Server is one server.
func Server(ctx context.Context, s Source, name string) (View, error) {
	err := s.get(ctx, client.ObjectKey{Name: name}, &metalv1.Server{})
	return view(name, "servers", "names", []string{name}), err
}

// Claims lists claims.
func Claims(ctx context.Context, s Source, _ url.Values) (View, error) {
	var all metalv1.ServerClaimList
	return s.list(ctx, "Claims", "claims", &all, func() (names []string) {
		for i := range all.Items {
			names = append(names, all.Items[i].Namespace+"/"+all.Items[i].Name)
		}
		return names
	})
}

// Claim is one claim.
func Claim(ctx context.Context, s Source, namespace, name string) (View, error) {
	err := s.get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &metalv1.ServerClaim{})
	return view(name, "claims", "names", []string{name}), err
}

// Images lists the images that claims name.
func Images(ctx context.Context, s Source) (View, error) {
	var all metalv1.ServerClaimList
	return s.list(ctx, "Images", "images", &all, func() (names []string) {
		for i := range all.Items {
			names = append(names, all.Items[i].Spec.Image)
		}
		return names
	})
}

// BMCs lists BMCs.
func BMCs(ctx context.Context, s Source, _ url.Values) (View, error) {
	var all metalv1.BMCList
	return s.list(ctx, "BMCs", "bmcs", &all, func() (names []string) {
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
		return names
	})
}

// BMC is one BMC.
func BMC(ctx context.Context, s Source, name string) (View, error) {
	err := s.get(ctx, client.ObjectKey{Name: name}, &metalv1.BMC{})
	return view(name, "bmcs", "names", []string{name}), err
}
