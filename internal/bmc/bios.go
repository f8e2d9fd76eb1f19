package bmc

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
)

// maxAttributes bounds what is kept of a BIOS and of a registry.
const maxAttributes = 8192

// BIOS is the settings of a system's firmware: name to string, int64, bool or nil.
type BIOS struct {
	URI        string
	Attributes map[string]any
	Registry   string // name of the attribute registry
	// SettingsURI is where changes are written (DSP0266, "Settings resource").
	SettingsURI string
	// ApplyTimes are those the BMC takes; empty: it does not say.
	ApplyTimes []string
	// Messages are what the last change came to, where the BMC says so.
	Messages []string

	resetTarget string
}

type biosBody struct {
	Attributes attributes
	Registry   text `json:"AttributeRegistry"`
	Settings   struct {
		Object   link  `json:"SettingsObject"`
		Times    texts `json:"SupportedApplyTimes"`
		Messages []struct{ Message text }
	} `json:"@Redfish.Settings"`
	Actions struct {
		Reset struct {
			Target text `json:"target"`
		} `json:"#Bios.ResetBios"`
	}
}

// attributes are decoded without the detour over float64, which would make other
// numbers of large ones.
type attributes map[string]any

func (a *attributes) UnmarshalJSON(b []byte) error {
	*a = nil
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil // what cannot be read is left out
	}
	*a = make(attributes, len(raw))
	for name, v := range raw {
		if len(*a) >= maxAttributes {
			break
		}
		if value, ok := attribute(v); ok {
			(*a)[name] = value
		}
	}
	return nil
}

func attribute(raw json.RawMessage) (any, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	switch v := v.(type) {
	case string, bool, nil:
		return v, true
	case float64:
		if n := number(v); v == math.Trunc(v) && math.Abs(float64(n)) < 1<<53 {
			return int64(v), true
		}
	}
	return nil, false
}

// BIOS reads the settings of a system.
func (c *Client) BIOS(ctx context.Context, systemURI string) (BIOS, error) {
	uri, err := c.biosURI(ctx, systemURI)
	if err != nil {
		return BIOS{}, err
	}
	var body biosBody
	if _, err := c.get(ctx, uri, &body); err != nil {
		return BIOS{}, err
	}
	b := BIOS{
		URI: uri, Attributes: body.Attributes, Registry: string(body.Registry),
		SettingsURI: string(body.Settings.Object), ApplyTimes: body.Settings.Times,
	}
	for _, m := range body.Settings.Messages {
		if m.Message != "" && len(b.Messages) < maxMembers {
			b.Messages = append(b.Messages, printable(string(m.Message), 200))
		}
	}
	b.resetTarget, _ = resourcePath(string(body.Actions.Reset.Target))
	return b, nil
}

// biosURI is the Bios of a system.
func (c *Client) biosURI(ctx context.Context, systemURI string) (string, error) {
	var system struct{ Bios link }
	if _, err := c.get(ctx, systemURI, &system); err != nil {
		return "", err
	}
	return system.Bios.or(strings.TrimSuffix(systemURI, "/") + "/Bios"), nil
}

// PendingBIOS reads the settings that wait to be applied. Some BMCs show all there, changed or
// not; those that are as they were are left out.
func (c *Client) PendingBIOS(ctx context.Context, b BIOS) (map[string]any, error) {
	if b.SettingsURI == "" {
		return nil, nil
	}
	var body biosBody
	if _, err := c.get(ctx, b.SettingsURI, &body); err != nil {
		return nil, err
	}
	for name, v := range body.Attributes {
		if now, ok := b.Attributes[name]; ok && now == v {
			delete(body.Attributes, name)
		}
	}
	return body.Attributes, nil
}

// SetBIOS writes settings; applyTime is OnReset, Immediate, …, or empty for the BMC's own. It
// is left out where the BMC does not say that it knows any.
func (c *Client) SetBIOS(ctx context.Context, b BIOS, change map[string]any, applyTime string) (Task, error) {
	path := b.SettingsURI
	if path == "" {
		path = b.URI
	}
	body := map[string]any{"Attributes": change}
	if applyTime != "" && len(b.ApplyTimes) > 0 {
		if !slices.Contains(b.ApplyTimes, applyTime) {
			return Task{}, c.unsupported("set BIOS of "+b.URI, "apply time %s is not among %s", applyTime, strings.Join(b.ApplyTimes, ", "))
		}
		body["@Redfish.SettingsApplyTime"] = map[string]any{"@odata.type": "#Settings.v1_3_0.PreferredApplyTime", "ApplyTime": applyTime}
	}
	etag, err := c.etag(ctx, path)
	if err != nil {
		return Task{}, err
	}
	a, err := c.change(ctx, call{method: http.MethodPatch, path: path, body: body, ifMatch: etag})
	if err != nil {
		return Task{}, err
	}
	return taskOf(a), nil
}

// ResetBIOS has all settings go back to their defaults with the next reset.
func (c *Client) ResetBIOS(ctx context.Context, b BIOS) error {
	target := b.resetTarget
	if target == "" {
		target = b.URI + "/Actions/Bios.ResetBios"
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: target, body: map[string]any{}})
	return err
}

// Attribute is what a registry says of one setting.
type Attribute struct {
	Name          string
	Type          string // Enumeration, String, Integer, Boolean, Password
	Values        []string
	Low, High     *int64 // of an Integer
	MaxLength     int    // of a String, zero: it does not say
	ReadOnly      bool
	ResetRequired bool
	// SaysReset: the registry itself says so; ResetRequired is also true where it says nothing.
	SaysReset bool
}

// AttributeRegistry is what a BMC says of the settings of firmware, by name.
type AttributeRegistry map[string]Attribute

type registryBody struct {
	Entries struct {
		Attributes []struct {
			Name          text `json:"AttributeName"`
			Type          text
			ReadOnly      bool
			Immutable     bool
			ResetRequired *bool
			Low           *number `json:"LowerBound"`
			High          *number `json:"UpperBound"`
			MaxLength     number
			Value         []struct {
				Name text `json:"ValueName"`
			}
		}
	} `json:"RegistryEntries"`
}

func (b *registryBody) registry() AttributeRegistry {
	whole := func(n *number) *int64 {
		if n == nil || math.Abs(float64(*n)) >= 1<<53 {
			return nil
		}
		return new(int64(*n))
	}
	registry := AttributeRegistry{}
	for _, e := range b.Entries.Attributes {
		if e.Name == "" || len(registry) >= maxAttributes {
			continue
		}
		a := Attribute{
			Name: string(e.Name), Type: string(e.Type), Low: whole(e.Low), High: whole(e.High), MaxLength: int(e.MaxLength.count()),
			ReadOnly: e.ReadOnly || e.Immutable, ResetRequired: e.ResetRequired == nil || *e.ResetRequired, SaysReset: e.ResetRequired != nil && *e.ResetRequired,
		}
		for _, v := range e.Value {
			a.Values = append(a.Values, string(v.Name))
		}
		registry[a.Name] = a
	}
	return registry
}

// AttributeRegistry reads a registry by the name that BIOS has for it.
func (c *Client) AttributeRegistry(ctx context.Context, name string) (AttributeRegistry, error) {
	root, err := c.root(ctx)
	if err != nil {
		return nil, err
	}
	uris, err := c.members(ctx, root.Registries.or("/redfish/v1/Registries"))
	if err != nil {
		return nil, err
	}
	type file struct {
		ID       text `json:"Id"`
		Registry text
		Location []struct {
			Language text
			URI      text `json:"Uri"`
		}
	}
	// The member that is called like the registry is looked at first: there are dozens.
	slices.SortStableFunc(uris, func(a, b string) int { return named(b, name) - named(a, name) })
	for _, uri := range uris {
		var f file
		if _, err := c.get(ctx, uri, &f); Unreachable(err) {
			return nil, err
		}
		if string(f.ID) != name && !strings.HasPrefix(string(f.Registry), name) {
			continue
		}
		for _, l := range f.Location {
			path, ok := resourcePath(string(l.URI))
			if !ok || l.Language != "" && !strings.HasPrefix(strings.ToLower(string(l.Language)), "en") {
				continue
			}
			var body registryBody
			if _, err := c.get(ctx, path, &body); err != nil {
				return nil, err
			}
			return body.registry(), nil
		}
	}
	return nil, c.unsupported("read attribute registry", "the BMC has no registry %q", printable(name, 64))
}

func named(uri, name string) int {
	if name != "" && strings.HasSuffix(strings.TrimSuffix(uri, "/"), "/"+name) {
		return 1
	}
	return 0
}

// Check says what of a change the firmware would refuse; nil: nothing that the
// registry knows of.
func (r AttributeRegistry) Check(change map[string]any) error {
	for _, name := range sortedKeys(change) {
		a, ok := r[name]
		if !ok {
			return fmt.Errorf("attribute %q: the firmware does not have it", name)
		}
		if err := a.check(change[name]); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// NeedsReset reports whether a change is applied by a reset only.
func (r AttributeRegistry) NeedsReset(change map[string]any) bool {
	for name := range change {
		if a, ok := r[name]; !ok || a.ResetRequired {
			return true
		}
	}
	return false
}
