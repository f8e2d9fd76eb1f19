package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	// maxBody bounds what a BMC reads.
	maxBody = 64 << 10
	// schemasURI is where DMTF publishes the schemas of all resources.
	schemasURI = "http://redfish.dmtf.org/schemas/v1/"
)

// object is a JSON object.
type object = map[string]any

// resource is what stands at one URI. A nil method is not allowed there.
type resource struct {
	// open resources need no authentication (DSP0266 §13.3). For sessions only
	// creating one is open.
	open, openPost bool
	// ownRules resources decide themselves who may change what; elsewhere the
	// role ReadOnly may change nothing.
	ownRules bool

	get    func(b *bmc, r *http.Request) (object, error)
	patch  func(b *bmc, c caller, r *http.Request, body object) error
	post   func(b *bmc, c caller, r *http.Request, body object) (answer, error)
	delete func(b *bmc, c caller, r *http.Request) error
	// lacks are the methods that a BMC does not allow here though others do; nil: none.
	lacks func(b *bmc) []string
	// document is what is no resource, and so has no ETag (DSP0266, "ETags").
	document bool
	// needsETag resources are changed with an If-Match only (DSP0266, "ETags").
	needsETag bool
	// form: what is posted here is no JSON object, and post reads it by itself.
	form bool
	// raw is a resource that answers by itself.
	raw http.HandlerFunc
}

// answer is what a POST comes to. The zero value is 204.
type answer struct {
	status int
	header map[string]string
	body   object
}

// ServeHTTP answers one request to the BMC that its connection was made to.
func (r *Rack) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, _ := req.Context().Value(bmcKey{}).(*bmc)
	if b == nil {
		http.Error(w, "no BMC has this address", http.StatusNotFound)
		return
	}
	defer b.stats.request()()
	if b.away() {
		drop(w)
		return
	}
	if req.Method == http.MethodPost {
		// A member is added to a collection, or to its Members, which is the same (DSP0266, "POST (create)").
		req.URL.Path = strings.TrimSuffix(strings.TrimRight(req.URL.Path, "/"), "/Members")
	}
	// net/http notices that a client has gone only once the body is read.
	req, body, err := b.receive(w, req)
	if !b.late(req) {
		drop(w)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body)) // a Fault may read it
	if b.strike(w, req) {
		return
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		b.fail(w, errTooLarge)
		return
	}
	if err != nil {
		drop(w)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if len(req.URL.Path) > 1 {
		// With and without a slash at the end it is the same resource.
		req.URL.Path = strings.TrimRight(req.URL.Path, "/")
	}
	w, finish := b.tamper(w, req)
	defer finish()
	r.tree.ServeHTTP(w, req)
}

// ServeHTTP answers a request to one resource.
func (res resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, ok := r.Context().Value(bmcKey{}).(*bmc)
	if !ok {
		return
	}
	if into, ok := r.Context().Value(expandKey{}).(*object); ok { // who asked for it was let in
		if res.get != nil {
			if body, err := res.get(b, r); err == nil {
				*into = body
			}
		}
		return
	}
	c, err := b.authenticate(r)
	if err != nil && !res.open && (!res.openPost || r.Method != http.MethodPost) {
		b.refuse(w, asFailure(err))
		return
	}
	if f := res.check(r, b, c); f != nil {
		res.refused(w, r, b, f)
		return
	}
	if isRead(r) {
		w.Header().Set("Allow", strings.Join(res.methods(b), ", "))
	}
	if res.raw != nil {
		res.raw(w, r)
		return
	}
	if err := res.answer(w, r, b, c); err != nil {
		res.refused(w, r, b, asFailure(err))
	}
}

// refused answers with a failure. With 405 it says what is allowed
// (RFC 9110 §15.5.6).
func (res resource) refused(w http.ResponseWriter, r *http.Request, b *bmc, f *failure) {
	w.Header().Del("Allow")
	if f.status == http.StatusMethodNotAllowed {
		allowed := slices.DeleteFunc(res.methods(b), func(m string) bool { return m == r.Method })
		w.Header().Set("Allow", strings.Join(allowed, ", "))
	}
	b.fail(w, f)
}

// methods are those that are allowed here at a BMC.
func (res resource) methods(b *bmc) []string {
	methods := []string{http.MethodGet, http.MethodHead}
	if res.get == nil && res.raw == nil {
		methods = nil
	}
	if res.post != nil {
		methods = append(methods, http.MethodPost)
	}
	if res.patch != nil {
		methods = append(methods, http.MethodPatch)
	}
	if res.delete != nil {
		methods = append(methods, http.MethodDelete)
	}
	if res.lacks != nil {
		methods = slices.DeleteFunc(methods, func(m string) bool { return slices.Contains(res.lacks(b), m) })
	}
	return methods
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// check refuses what no resource has to look at.
func (res resource) check(r *http.Request, b *bmc, c caller) *failure {
	if !slices.Contains(res.methods(b), r.Method) {
		return errMethod(r.Method)
	}
	if v := r.Header.Get("OData-Version"); v != "" && v != "4.0" {
		return &failure{status: http.StatusPreconditionFailed, id: "HeaderInvalid", text: "Header 'OData-Version' is invalid."}
	}
	for name := range r.URL.Query() {
		// Other parameters are ignored (DSP0266, "Query parameters").
		switch {
		case name == "$expand":
			if f := res.checkExpand(b, r); f != nil {
				return f
			}
		case strings.HasPrefix(name, "$"):
			return errQuery(name)
		}
	}
	if !isRead(r) && !res.ownRules && c.role == roleReadOnly {
		return errPrivilege
	}
	return nil
}

func (res resource) answer(w http.ResponseWriter, r *http.Request, b *bmc, c caller) error {
	switch r.Method {
	case http.MethodPost:
		var body object
		if !res.form {
			var err error
			if body, err = readObject(r); err != nil {
				return err
			}
		}
		a, err := res.post(b, c, r, body)
		if err != nil {
			return err
		}
		b.reply(w, a)
		return nil
	case http.MethodPatch:
		return res.change(w, r, b, c)
	case http.MethodDelete:
		if err := res.delete(b, c, r); err != nil {
			return err
		}
		b.reply(w, answer{})
		return nil
	}
	body, err := res.get(b, r)
	if err != nil {
		return err
	}
	if res.document {
		b.reply(w, answer{status: http.StatusOK, body: body})
		return nil
	}
	if err := b.expand(r, body); err != nil {
		return err
	}
	etag := entityTag(body)
	if r.Header.Get("If-None-Match") == etag {
		w.Header().Set("ETag", etag)
		b.reply(w, answer{status: http.StatusNotModified})
		return nil
	}
	b.reply(w, answer{status: http.StatusOK, body: body, header: map[string]string{"ETag": etag}})
	return nil
}

// change is PATCH: it answers with what the resource has become.
func (res resource) change(w http.ResponseWriter, r *http.Request, b *bmc, c caller) error {
	before, err := res.get(b, r)
	if err != nil {
		return err
	}
	switch match := r.Header.Get("If-Match"); {
	case match == "" && res.needsETag:
		return errNoETag
	case match != "" && match != "*" && match != entityTag(before):
		return errPrecondition
	}
	body, err := readObject(r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return errEmptyJSON
	}
	if err := res.patch(b, c, r, body); err != nil {
		return err
	}
	after, err := res.get(b, r)
	if err != nil {
		return err
	}
	b.reply(w, answer{status: http.StatusOK, body: after, header: map[string]string{"ETag": entityTag(after)}})
	return nil
}

// schemaOf is where the JSON schema of a resource is, by its type: the version that the resource has, or the one schema
// where its type has no versions (DSP0266, "Link header"). Empty: the body is of no resource.
func schemaOf(body object) string {
	kind, _ := body["@odata.type"].(string)
	parts := strings.Split(strings.TrimPrefix(kind, "#"), ".")
	if len(parts) < 2 {
		return ""
	}
	return schemasURI + strings.Join(parts[:len(parts)-1], ".") + ".json"
}

// entityTag is a digest of what the resource says: it changes when, and only
// when, that does.
func entityTag(body object) string {
	digest := fnv.New64a()
	if err := json.NewEncoder(digest).Encode(body); err != nil {
		return ""
	}
	return fmt.Sprintf("%q", strconv.FormatUint(digest.Sum64(), 16))
}

func readObject(r *http.Request) (object, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return object{}, nil
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "" {
		if media, _, err := mime.ParseMediaType(contentType); err != nil || media != "application/json" {
			return nil, errMediaType
		}
	}
	var body object
	if err := json.Unmarshal(b, &body); err != nil || body == nil {
		return nil, errMalformedJSON
	}
	return body, nil
}

func (b *bmc) refuse(w http.ResponseWriter, f *failure) {
	b.stats.add(func(s *Stats) { s.Refused++ })
	w.Header().Set("WWW-Authenticate", `Basic realm="Redfish"`)
	b.fail(w, f)
}

func (b *bmc) fail(w http.ResponseWriter, f *failure) {
	b.reply(w, answer{status: f.status, body: f.body()})
}

func (b *bmc) reply(w http.ResponseWriter, a answer) {
	h := w.Header()
	h.Set("OData-Version", "4.0")
	h.Set("Cache-Control", "no-cache")
	if _, ok := b.struck(fault.ClockSkew, ""); ok {
		h.Set("Date", b.now().UTC().Format(http.TimeFormat))
	}
	for name, value := range a.header {
		h.Set(name, value)
	}
	if a.status == 0 {
		a.status = http.StatusNoContent
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	if etag := h.Get("ETag"); etag != "" {
		a.body["@odata.etag"] = etag
	}
	if schema := schemaOf(a.body); schema != "" {
		h.Set("Link", "<"+schema+">; rel=describedby")
	}
	text, err := json.MarshalIndent(a.body, "", "  ")
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json;charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(a.status)
	_, _ = w.Write(append(text, '\n'))
}
