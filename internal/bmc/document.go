package bmc

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// Document is a resource as the BMC shows it, for settings that no vendor shows as attributes.
type Document struct {
	URI  string
	Body map[string]any
	// Members are the resources of a collection; nil: it is none.
	Members []string

	etag string
}

// maxDocumentMembers bounds how many members of a collection are offered.
const maxDocumentMembers = 64

// Document reads a resource below /redfish/v1 as it is.
func (c *Client) Document(ctx context.Context, uri string) (Document, error) {
	r := call{method: http.MethodGet, path: uri}
	path, ok := resourcePath(uri)
	if !ok || path != uri {
		return Document{}, c.unsupported(r.op(), "not the path of a resource")
	}
	a, err := c.do(ctx, r)
	if err != nil {
		return Document{}, err
	}
	d := Document{URI: uri, etag: a.header.Get("ETag")}
	// Not with decode: what a tolerant reader leaves out would look like a difference.
	if err := json.Unmarshal(a.body, &d.Body); err != nil {
		return Document{}, c.protocolError(r.op(), "body is no JSON object")
	}
	if d.etag == "" {
		d.etag, _ = d.Body["@odata.etag"].(string)
	}
	if _, collection := d.Body["Members"].([]any); collection {
		d.Members, err = c.members(ctx, uri)
		d.Members = d.Members[:min(len(d.Members), maxDocumentMembers)]
	}
	return d, err
}

// SendDocument changes a resource by PATCH or PUT, or adds to a collection by POST. The task that the BMC makes of it is returned;
// its URI is empty where it makes none.
func (c *Client) SendDocument(ctx context.Context, method string, d Document, body map[string]any) (Task, error) {
	r := call{method: method, path: d.URI, body: body}
	switch method {
	case http.MethodPatch, http.MethodPut:
		r.ifMatch = d.etag
	case http.MethodPost:
	default:
		return Task{}, c.unsupported(r.op(), "no method that changes a document")
	}
	if path, ok := resourcePath(d.URI); !ok || path != d.URI || !strings.HasPrefix(path, "/redfish/v1/") {
		return Task{}, c.unsupported(r.op(), "not the path of a resource")
	}
	a, err := c.change(ctx, r)
	if err != nil || a.status != http.StatusAccepted {
		return Task{}, err // the Location of what was created is no task
	}
	return taskOf(a), nil
}
