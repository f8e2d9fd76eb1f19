package sim

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// maxExpanded is how many resources one answer may contain besides the one that was asked for. With two levels of Links the same ones come
// again and again.
const maxExpanded = 256

// expandSupport is what a BMC does of the query parameter $expand (DSP0266 §7.3), and says of it in its service root. The zero
// value is nothing.
type expandSupport struct {
	all, links, noLinks bool // the values *, ~ and .
	levels              bool // the qualifier $levels
	maxLevels           int
}

// expands is what the BMC says that it does.
func (b *bmc) expands() expandSupport {
	if _, ok := b.struck(fault.ExpandLies, ""); ok {
		return expandSupport{all: true, links: true, noLinks: true, levels: true, maxLevels: 2}
	}
	return b.quirks.expand
}

// feature is ProtocolFeaturesSupported.ExpandQuery.
func (s expandSupport) feature() object {
	f := object{"ExpandAll": s.all, "Levels": s.levels, "Links": s.links, "NoLinks": s.noLinks}
	if s.maxLevels > 0 {
		f["MaxLevels"] = s.maxLevels
	}
	return f
}

// expansion is what a request asks for.
type expansion struct {
	links, others bool
	levels        int
}

// parse reads a value such as ".($levels=2)".
func (s expandSupport) parse(value string) (e expansion, _ *failure) {
	what, qualifier, qualified := strings.Cut(value, "(")
	offered := map[string]bool{"*": s.all, "~": s.links, ".": s.noLinks}
	switch given, known := offered[what]; {
	case !known:
		return e, errQueryValue(value)
	case !given, qualified && !s.levels:
		return e, errQuery("$expand")
	}
	e = expansion{links: what != ".", others: what != "~", levels: 1}
	if !qualified {
		return e, nil
	}
	digits, whole := strings.CutSuffix(strings.TrimPrefix(qualifier, "$levels="), ")")
	levels, err := strconv.Atoi(digits)
	if !whole || err != nil || !strings.HasPrefix(qualifier, "$levels=") {
		return e, errQueryValue(value)
	}
	if levels < 1 || levels > s.maxLevels {
		return e, errQueryRange(digits, s.maxLevels)
	}
	e.levels = levels
	return e, nil
}

// checkExpand refuses a $expand that the BMC does not do here.
func (res resource) checkExpand(b *bmc, r *http.Request) *failure {
	if r.Method != http.MethodGet || res.get == nil || res.document {
		return errQuery("$expand")
	}
	if s, ok := b.struck(fault.ExpandLies, ""); ok && s.Value.Text == "refused" {
		return errQuery("$expand")
	}
	_, f := b.expands().parse(r.URL.Query().Get("$expand"))
	return f
}

// expand puts into a body the resources that the request asks for in it.
func (b *bmc) expand(r *http.Request, body object) error {
	value := r.URL.Query().Get("$expand")
	if value == "" {
		return nil
	}
	e, f := b.expands().parse(value)
	if f != nil {
		return f
	}
	lie, lies := b.struck(fault.ExpandLies, "")
	if lies && lie.Value.Text == "ignored" {
		return nil
	}
	x := expander{bmc: b, request: r, what: e}
	x.walk(body, e.levels, e.others)
	if x.count > maxExpanded {
		return errTooManyExpanded
	}
	members, _ := body["Members"].([]object)
	switch {
	case lies && lie.Value.Text == "cut":
		body["Members"] = members[:len(members)/2]
	case lies && lie.Value.Text == "huge":
		body["Oem"] = object{"Padding": strings.Repeat("x", 2<<20)}
	}
	return nil
}

// expander follows the links of one answer.
type expander struct {
	bmc     *bmc
	request *http.Request
	what    expansion
	count   int
}

// walk replaces links in an object. Those under Links have a value of $expand of their own.
func (x *expander) walk(o object, levels int, asked bool) {
	for name, value := range o {
		if strings.HasPrefix(name, "@") || name == "Actions" {
			continue
		}
		asked := asked
		if name == "Links" {
			asked = x.what.links
		}
		switch v := value.(type) {
		case object:
			o[name] = x.value(v, levels, asked)
		case []object:
			all := slices.Clone(v)
			for i := range all {
				all[i] = x.value(all[i], levels, asked)
			}
			o[name] = all
		}
	}
}

// value is what stands in place of an object: a resource for a link, with its own links replaced as far as levels go.
func (x *expander) value(o object, levels int, asked bool) object {
	uri, link := o["@odata.id"].(string)
	if !link {
		x.walk(o, levels, asked)
		return o
	}
	if !asked || len(o) > 1 || strings.Contains(uri, "#") {
		return o
	}
	if x.count++; x.count > maxExpanded {
		return o
	}
	body := x.read(uri)
	if body == nil {
		return o
	}
	body["@odata.etag"] = entityTag(body)
	if levels > 1 {
		x.walk(body, levels-1, x.what.others)
	}
	return body
}

// expandKey leads to where an answer is put that goes into another.
type expandKey struct{}

// read is a resource as a request of its own would get it; nil where that would fail: then the link stays.
func (x *expander) read(uri string) (body object) {
	r := x.request.WithContext(context.WithValue(x.request.Context(), expandKey{}, &body))
	r.URL = &url.URL{Path: uri}
	if x.bmc.spoils(r) {
		return nil
	}
	x.bmc.rack.tree.ServeHTTP(&tampered{header: http.Header{}}, r)
	return body
}

// spoils reports whether a fault would strike a request.
func (b *bmc) spoils(r *http.Request) bool {
	b.mu.Lock()
	hook := b.fault
	b.mu.Unlock()
	if hook != nil && hook.Effect(r) != EffectNone {
		return true
	}
	if !b.rack.faults.Any(b.index) {
		return false
	}
	for _, kind := range []fault.Kind{fault.HangBody, fault.TruncatedJSON, fault.WrongJSON, fault.Latency} {
		if _, ok := b.struck(kind, r.URL.Path); ok {
			return true
		}
	}
	effect, f := b.named(http.Header{}, r)
	return effect != EffectNone || f != nil
}
