package admission

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
)

// setting is a setting that iPXE expands where it stands, such as ${next-server} (https://ipxe.org/scripting).
var setting = regexp.MustCompile(`\$\{[^{}]*\}`)

// ipxeURLs refuses URLs that can not be read as such, settings of iPXE apart. That they end no line is said by the schema.
func ipxeURLs(_ context.Context, c *check, now, before *bootv1.IPXEBootConfig) error {
	spec := field.NewPath("spec")
	for _, u := range []struct{ field, now, before string }{
		{"kernelURL", now.Spec.KernelURL, before.Spec.KernelURL},
		{"initrdURL", now.Spec.InitrdURL, before.Spec.InitrdURL},
		{"squashfsURL", now.Spec.SquashfsURL, before.Spec.SquashfsURL},
	} {
		if u.now != u.before {
			c.url(spec.Child(u.field), u.now, setting.ReplaceAllString(u.now, "0"))
		}
	}
	return nil
}

// httpURL refuses a URL that can not be read as such: firmware fetches it as it stands (UEFI 2.10 §24.7). It warns of one that firmware
// does not fetch.
func httpURL(_ context.Context, c *check, now, before *bootv1.HTTPBootConfig) error {
	path, value := field.NewPath("spec", "ukiURL"), now.Spec.UKIURL
	if value == before.Spec.UKIURL {
		return nil
	}
	c.url(path, value, value)
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && !bootview.Fetchable(value) {
		c.warn(path, "%.64q is not an http:// or https:// URL; firmware fetches no other", value)
	}
	return nil
}

// ipxeMachine warns of what identifies no machine.
func ipxeMachine(_ context.Context, c *check, now, before *bootv1.IPXEBootConfig) error {
	c.systemUUID(now.Spec.SystemUUID, before.Spec.SystemUUID)
	c.addresses("systemIPs", now.Spec.SystemIPs, before.Spec.SystemIPs)
	return nil
}

// httpMachine is ipxeMachine for the other boot method.
func httpMachine(_ context.Context, c *check, now, before *bootv1.HTTPBootConfig) error {
	c.systemUUID(now.Spec.SystemUUID, before.Spec.SystemUUID)
	c.addresses("networkIdentifiers", now.Spec.NetworkIdentifiers, before.Spec.NetworkIdentifiers)
	c.addresses("systemIPs", now.Spec.SystemIPs, before.Spec.SystemIPs)
	return nil
}

func (c *check) systemUUID(now, before string) {
	if now != "" && now != before && identity.MachineUUID(now) == "" {
		c.warn(field.NewPath("spec", "systemUUID"), "%.64q is not the UUID of a machine; nothing is served by it", now)
	}
}

func (c *check) addresses(name string, now, before []string) {
	for i, value := range now {
		if !slices.Contains(before, value) && !identity.IsMachineAddress(value) {
			c.warn(field.NewPath("spec", name).Index(i), "%.64q is not an IP or MAC address of a machine; nothing is served by it", value)
			return
		}
	}
}

// url judges a value by the URL that it becomes.
func (c *check) url(path *field.Path, value, becomes string) {
	if value == "" {
		return
	}
	if err := bootview.CheckURL(path.String(), value); err != nil {
		c.refuse(field.Invalid(path, value, reason(err)))
		return
	}
	parsed, err := url.Parse(becomes)
	var problem *url.Error
	switch {
	case errors.As(err, &problem):
		c.refuse(field.Invalid(path, value, "not a URL: "+problem.Err.Error()))
	case err != nil:
		c.refuse(field.Invalid(path, value, "not a URL: "+err.Error()))
	case parsed.Scheme == "":
		c.warn(path, "%q has no scheme", value)
	}
}

// oneIPXEConfig warns of a config written by hand for a machine that has one already.
func oneIPXEConfig(ctx context.Context, c *check, now, before *bootv1.IPXEBootConfig) error {
	return oneConfig(ctx, c, now, before, &bootv1.IPXEBootConfigList{})
}

// oneHTTPConfig is oneIPXEConfig for the other boot method.
func oneHTTPConfig(ctx context.Context, c *check, now, before *bootv1.HTTPBootConfig) error {
	return oneConfig(ctx, c, now, before, &bootv1.HTTPBootConfigList{})
}

func oneConfig[T any, P object[T]](ctx context.Context, c *check, now, before P, list client.ObjectList) error {
	if metav1.GetControllerOf(now) != nil {
		return nil // a controller's, that makes one a machine
	}
	known := map[string]bool{}
	for _, identifier := range index.Machines(before) {
		known[identifier] = true
	}
	for _, identifier := range index.Machines(now) {
		if known[identifier] {
			continue
		}
		fresh := list.DeepCopyObject().(client.ObjectList)
		others, err := holders(ctx, c, fresh, index.BootConfigByMachine, identifier, func(o P) bool {
			for _, theirs := range index.Machines(o) {
				if theirs == identifier {
					return true
				}
			}
			return false
		})
		if err != nil {
			return err
		}
		if len(others) > 0 {
			c.warn(field.NewPath("spec"), "%s already has %s; only one of them is served", identifier, c.whose(others[0]))
			return nil
		}
	}
	return nil
}

// whose names another object to somebody who may not see into its namespace.
func (c *check) whose(other types.NamespacedName) string {
	if other.Namespace != c.Namespace {
		return "a " + c.Kind.Kind + " in another namespace"
	}
	return c.Kind.Kind + " \"" + other.Name + "\""
}
