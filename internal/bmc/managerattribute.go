package bmc

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// ManagerAttributes are the settings of a BMC itself, where its vendor shows them as attributes: at Dell in several
// resources, whose names do not overlap.
type ManagerAttributes struct {
	// Attributes are name to string, int64, bool or nil.
	Attributes map[string]any
	// Registries name the attribute registries that describe them.
	Registries []string

	resources []attributeResource
}

type attributeResource struct {
	uri, etag string
	names     map[string]struct{}
}

// managerLinks is where vendors link the attributes of a manager: Dell under Links.Oem, or by the name of the resource
// under Oem of firmware that is older.
type managerLinks struct {
	Links struct {
		OEM struct {
			Dell struct{ DellAttributes links }
		} `json:"Oem"`
	}
	OEM struct {
		Dell struct{ DellAttributes links }
	} `json:"Oem"`
}

type managerAttributesBody struct {
	ETag       text `json:"@odata.etag"`
	Attributes attributes
	Registry   text `json:"AttributeRegistry"`
}

// ManagerAttributes reads the settings of the BMC. KindUnsupported: its vendor shows none in this way.
func (c *Client) ManagerAttributes(ctx context.Context) (ManagerAttributes, error) {
	const op = "read the attributes of the manager"
	place, err := c.place(ctx)
	if err != nil {
		return ManagerAttributes{}, err
	}
	var manager managerLinks
	if _, err := c.get(ctx, place.manager, &manager); err != nil {
		return ManagerAttributes{}, err
	}
	uris := append(manager.Links.OEM.Dell.DellAttributes, manager.OEM.Dell.DellAttributes...)
	slices.Sort(uris)
	if uris = slices.Compact(uris); len(uris) == 0 {
		return ManagerAttributes{}, c.unsupported(op, "the manager has none")
	}
	m := ManagerAttributes{Attributes: map[string]any{}}
	for _, uri := range uris {
		var body managerAttributesBody
		etag, err := c.get(ctx, string(uri), &body)
		if err != nil {
			return ManagerAttributes{}, err
		}
		m.add(string(uri), etag, body)
	}
	return m, nil
}

func (m *ManagerAttributes) add(uri, etag string, body managerAttributesBody) {
	if etag == "" {
		etag = string(body.ETag)
	}
	r := attributeResource{uri: uri, etag: etag, names: map[string]struct{}{}}
	for name, v := range body.Attributes {
		if _, taken := m.Attributes[name]; taken || len(m.Attributes) >= maxAttributes {
			continue
		}
		m.Attributes[name], r.names[name] = v, struct{}{}
	}
	m.resources = append(m.resources, r)
	if registry := string(body.Registry); registry != "" && !slices.Contains(m.Registries, registry) {
		m.Registries = append(m.Registries, registry)
	}
}

// SetManagerAttributes changes settings of the BMC, each where it was read; nothing is sent if one was not. The tasks that
// the BMC makes of them are returned, also those before an error.
func (c *Client) SetManagerAttributes(ctx context.Context, m ManagerAttributes, change map[string]any) ([]Task, error) {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(change)) {
		if _, known := m.Attributes[name]; !known {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, c.unsupported("set the attributes of the manager", "it has no %s", strings.Join(unknown, ", "))
	}
	var tasks []Task
	for _, r := range m.resources {
		part := map[string]any{}
		for name, v := range change {
			if _, here := r.names[name]; here {
				part[name] = v
			}
		}
		if len(part) == 0 {
			continue
		}
		a, err := c.change(ctx, call{method: http.MethodPatch, path: r.uri, body: map[string]any{"Attributes": part}, ifMatch: r.etag})
		if err != nil {
			return tasks, fmt.Errorf("attributes at %s: %w", r.uri, err)
		}
		if t := taskOf(a); t.URI != "" {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}
