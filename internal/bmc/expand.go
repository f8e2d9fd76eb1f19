package bmc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// expandedLimit is the largest answer with other resources in it that is read. A collection of two dozen disks is a tenth of it. What is
// larger is read one by one.
const expandedLimit = 1 << 20

// expandQuery is what a service says of the query parameter $expand (DSP0266 §7.3; DSP0268, ServiceRoot v1.3.0).
type expandQuery struct {
	ExpandAll text
	NoLinks   text
	Levels    text
	MaxLevels number
}

// parameter is the query that has a resource answered with those that it leads to, so many levels deep; "": the service does not offer it.
// What is under Links belongs to others, and is expanded only where the service offers nothing else.
func (q expandQuery) parameter(levels int) string {
	offers := func(t text) bool { return strings.EqualFold(string(t), "true") }
	what := "*"
	switch {
	case offers(q.NoLinks):
		what = "."
	case !offers(q.ExpandAll):
		return ""
	}
	switch {
	case offers(q.Levels) && (levels == 1 || float64(q.MaxLevels) >= float64(levels)):
		return fmt.Sprintf("$expand=%s($levels=%d)", what, levels)
	case levels == 1:
		return "$expand=" + what // one level is what it means without the qualifier
	}
	return ""
}

// expansion is the query for that many levels at this BMC; "": none. It sends no request: what is not known of the service is not used.
func (c *Client) expansion(ctx context.Context, levels int) (string, error) {
	if c.singly.Load() {
		return "", nil
	}
	if err := c.take(ctx); err != nil {
		return "", err
	}
	root := c.service
	c.release()
	if root == nil {
		return "", nil
	}
	q, err := c.serviceQuirks(ctx)
	if err != nil || q.expandLies {
		return "", err
	}
	return root.Features.Expand.parameter(levels), nil
}

// readSingly remembers that an expanded answer was no good, so that this client asks for none again.
func (c *Client) readSingly() { c.singly.Store(true) }

// member is a member of a collection, or another resource that one leads to: whole, where the answer had it in, or a link.
type member[T any] struct {
	uri  string // "": it leads nowhere
	body *T     // nil: a link
}

// UnmarshalJSON reads either form. A whole resource has an Id (DSP0266, "Required properties").
func (m *member[T]) UnmarshalJSON(b []byte) error {
	*m = member[T]{}
	id := reference(b)
	path, ok := resourcePath(id)
	if !ok || strings.Contains(id, "#/") {
		return nil
	}
	m.uri = path
	var whole struct {
		ID text `json:"Id"`
	}
	if len(b) == 0 || b[0] != '{' || decode(b, &whole) != nil || whole.ID == "" {
		return nil
	}
	body := new(T)
	if decode(b, body) == nil {
		m.body = body
	}
	return nil
}

// bare makes links of URIs.
func bare[T any](uris []string) []member[T] {
	members := make([]member[T], 0, len(uris))
	for _, uri := range uris {
		members = append(members, member[T]{uri: uri})
	}
	return members
}

// expandedPage is a collection, or a page of one, that was asked for with its members.
type expandedPage[T any] struct {
	Members []member[T]
	Next    text    `json:"Members@odata.nextLink"`
	Count   *number `json:"Members@odata.count"`
}

// lacks reports whether the whole collection has more members than that.
func (p expandedPage[T]) lacks(members int) bool {
	return p.Count != nil && int(p.Count.count()) > members
}

// sound reports whether a page is what was asked for: it has members, or none, and each can be found.
func (p expandedPage[T]) sound() bool {
	if p.Members == nil {
		return false
	}
	for _, m := range p.Members {
		if m.uri == "" {
			return false
		}
	}
	return true
}

// inlined is a link to a collection, or the collection itself where the answer had it in.
type inlined[T any] struct {
	link
	members []member[T] // nil: a link
}

// UnmarshalJSON reads either form. Of a collection that is not all there the link counts.
func (i *inlined[T]) UnmarshalJSON(b []byte) error {
	*i = inlined[T]{}
	_ = i.link.UnmarshalJSON(b)
	var page expandedPage[T]
	if len(b) > 0 && b[0] == '{' && decode(b, &page) == nil && page.Next == "" && page.sound() && !page.lacks(len(page.Members)) {
		i.members = page.Members[:min(len(page.Members), maxMembers)]
	}
	return nil
}

// each reads the members, as each does.
func (i *inlined[T]) each(ctx context.Context, c *Client, use func(uri string, body *T)) error {
	if i.members != nil {
		return eachOf(ctx, c, i.members, use)
	}
	return each(ctx, c, i.link, use)
}

// unexpanded reports whether there are members and none is whole.
func unexpanded[T any](members []member[T]) bool {
	for _, m := range members {
		if m.body != nil {
			return false
		}
	}
	return len(members) > 0
}

// collect lists a collection with what of its members comes along in one answer, so many levels deep. Where the BMC
// refuses that, or what it answers is not what was asked for, it is asked for the list alone, and from then on never again for more.
func collect[T any](ctx context.Context, c *Client, path string, levels int) ([]member[T], error) {
	if interrupted(ctx) {
		return nil, ErrInterrupted
	}
	query, err := c.expansion(ctx, levels)
	if err != nil {
		return nil, err
	}
	if query == "" {
		uris, err := c.members(ctx, path)
		return bare[T](uris), err
	}
	members, err := collectExpanded[T](ctx, c, path, query)
	if err == nil || !c.askSingly(ctx, err) {
		return members, err
	}
	uris, err := c.members(ctx, path)
	if err == nil {
		c.readSingly()
	}
	return bare[T](uris), err
}

// collectExpanded lists a collection with its members, page after page.
func collectExpanded[T any](ctx context.Context, c *Client, path, query string) ([]member[T], error) {
	var all []member[T]
	for at := withQuery(path, query); at != "" && len(all) < maxMembers; {
		var page expandedPage[T]
		if err := c.getExpanded(ctx, at, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Members...)
		next, more := resourcePath(string(page.Next))
		if !page.sound() || (!more || len(page.Members) == 0) && page.lacks(len(all)) {
			return nil, c.protocolError("GET "+at, "the answer is not the collection with its members")
		}
		if at = next; len(page.Members) == 0 {
			break
		}
	}
	c.busy.Store(false)
	if unexpanded(all) {
		c.readSingly() // it ignores the query; the list is good
	}
	return all[:min(len(all), maxMembers)], nil
}

// getExpanded reads a resource with others in it.
func (c *Client) getExpanded(ctx context.Context, path string, out any) error {
	r := call{method: http.MethodGet, path: path, expanded: true}
	a, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	if err := decode(a.body, out); err != nil {
		return c.protocolError(r.op(), "%w", err)
	}
	return nil
}

// askSingly reports whether an expanded answer that failed is to be asked for in parts. A BMC that lets nobody in, or is not
// who it should be, is not asked again, nor one that asks for time: it gets that, and where it asks for it twice in a row, the
// query is too much for it. One that is away or ill shows that at the next request as well, and is not blamed for the query then.
func (c *Client) askSingly(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || ctx.Err() != nil || errors.Is(err, ErrInterrupted):
		return false
	case e.Kind == KindAuthentication, e.Kind == KindUntrusted:
		return false
	case e.RetryAfter > 0:
		if c.busy.Swap(true) {
			c.readSingly()
		}
		return false
	}
	return true
}

// withQuery adds a query parameter to a path, which may have some.
func withQuery(path, query string) string {
	if strings.Contains(path, "?") {
		return path + "&" + query
	}
	return path + "?" + query
}

// each reads the members of a collection. Broken ones are left out; their
// error is returned only where no member could be read.
func each[T any](ctx context.Context, c *Client, path link, use func(uri string, body *T)) error {
	if path == "" {
		return nil
	}
	members, err := collect[T](ctx, c, string(path), 1)
	if err != nil {
		return err
	}
	return eachOf(ctx, c, members, use)
}

// eachOf reads those of the members that are links.
func eachOf[T any](ctx context.Context, c *Client, members []member[T], use func(uri string, body *T)) error {
	return eachRead(members, use, func(uri string) (*T, error) {
		if interrupted(ctx) {
			return nil, ErrInterrupted
		}
		body := new(T)
		_, err := c.get(ctx, uri, body)
		return body, err
	})
}

// eachRead is eachOf with a way of its own to read one.
func eachRead[T any](members []member[T], use func(uri string, body *T), get func(uri string) (*T, error)) error {
	var failed error
	read := 0
	for _, m := range members {
		body := m.body
		if body == nil {
			var err error
			if body, err = get(m.uri); err != nil {
				if Unreachable(err) {
					return err
				}
				failed = err
				continue
			}
		}
		read++
		use(m.uri, body)
	}
	if read > 0 {
		return nil
	}
	return failed
}
