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

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
)

// setting is a setting that iPXE expands where it stands, such as ${next-server} (https://ipxe.org/scripting).
var setting = regexp.MustCompile(`\$\{[^{}]*\}`)

// bootConfigRules are those for the boot configs of a method.
func bootConfigRules(m bootmethod.Method) []rule {
	judged := func(judge func(ctx context.Context, c *check, m bootmethod.Method, now, before bootmethod.Object) error) rule {
		return func(ctx context.Context, c *check) error {
			now, before := m.New(), m.New()
			if !decode(c.Object, now) || !decode(c.Old, before) {
				return nil // not of this kind's shape, as its schema says better
			}
			return judge(ctx, c, m, now, before)
		}
	}
	return []rule{judged(bootConfigURLs), judged(bootConfigMachine), judged(oneBootConfig)}
}

// bootConfigURLs refuses URLs that can not be read as such, settings of iPXE apart where it expands them. It warns of what firmware does not
// fetch, which takes a URL as it stands (UEFI 2.10 §24.7). That they end no line is said by the schema.
func bootConfigURLs(_ context.Context, c *check, _ bootmethod.Method, now, before bootmethod.Object) error {
	was := bootmethod.ConfigOf(before).URLs
	for i, u := range bootmethod.ConfigOf(now).URLs {
		path, becomes := field.NewPath("spec", u.Field), u.Value
		if u == was[i] {
			continue
		}
		if u.Scripted {
			becomes = setting.ReplaceAllString(u.Value, "0")
		}
		c.url(path, u.Value, becomes)
		if parsed, err := url.Parse(u.Value); !u.Scripted && err == nil && parsed.Scheme != "" && !bootview.Fetchable(u.Value) {
			c.warn(path, "%.64q is not an http:// or https:// URL; firmware fetches no other", u.Value)
		}
	}
	return nil
}

// bootConfigMachine warns of what identifies no machine.
func bootConfigMachine(_ context.Context, c *check, _ bootmethod.Method, now, before bootmethod.Object) error {
	is, was := bootmethod.ConfigOf(now), bootmethod.ConfigOf(before)
	c.systemUUID(is.SystemUUID, was.SystemUUID)
	for i, a := range is.Addresses {
		c.addresses(a.Field, a.Values, was.Addresses[i].Values)
	}
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

// oneBootConfig warns of a boot config written by hand for a machine that has one of this method already.
func oneBootConfig(ctx context.Context, c *check, m bootmethod.Method, now, before bootmethod.Object) error {
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
		others, err := holders(ctx, c, m.NewList(), index.BootConfigByMachine, identifier, m.New, func(o bootmethod.Object) bool {
			return slices.Contains(index.Machines(o), identifier)
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
