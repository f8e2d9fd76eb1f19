package bmc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// maxMembers bounds how many members of one collection are looked at.
const maxMembers = 256

// decode reads a JSON object into out. A value of the wrong type costs that
// value only: encoding/json goes on after it and reports it at the end.
func decode(body []byte, out any) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n\xef\xbb\xbf") // some firmware sends a byte order mark
	if len(trimmed) == 0 {
		return errors.New("empty body")
	}
	if trimmed[0] != '{' {
		return errors.New("body is no JSON object")
	}
	err := json.Unmarshal(trimmed, out)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok || err == nil {
		return nil
	}
	return fmt.Errorf("body is no JSON: %w", err)
}

// words are those that BMCs have in common. Most of what ten thousand BMCs say they all say: names of models, states, paths.
var words = bounded.NewWords(4096)

// text is a string, however the BMC spells it: null, a number and a boolean have
// been seen where the schema says string.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch {
	case len(b) == 0 || string(b) == "null" || b[0] == '{' || b[0] == '[':
	case b[0] == '"':
		if plain, ok := plainText(b); ok {
			*t = text(words.Once(string(bytes.TrimSpace(plain))))
			return nil
		}
		var s string
		if err := json.Unmarshal(b, &s); err == nil {
			*t = text(words.Once(strings.TrimSpace(s)))
		}
	default:
		*t = text(words.Once(string(b)))
	}
	return nil
}

// number is a number, also one in quotes and one with a fraction.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(b), `"`)), 64)
	if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = number(v)
	}
	return nil
}

// count returns n as a whole number between 0 and the largest int32.
func (n number) count() int32 {
	if n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}

// bytes returns n times unit, zero for what cannot be a size.
func (n number) bytes(unit int64) int64 {
	v := float64(n) * float64(unit)
	if v < 0 || v >= math.MaxInt64 {
		return 0
	}
	return int64(v)
}

// texts is a list of strings; one string counts as a list of it.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	*t = nil
	if len(b) > 0 && b[0] != '[' {
		var one text
		_ = one.UnmarshalJSON(b)
		if one != "" {
			*t = texts{string(one)}
		}
		return nil
	}
	list, plain := plainTexts(b)
	if !plain {
		var said []text
		if err := json.Unmarshal(b, &said); err != nil {
			return nil //nolint:nilerr // what cannot be read is left out
		}
		for _, s := range said {
			list = append(list, string(s))
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if len(list) > maxMembers {
		list = slices.Clone(list[:maxMembers]) // and not the memory of the others
	}
	if len(list) > 0 {
		*t = list
	}
	return nil
}

// link is a reference to a resource: an object with "@odata.id", or
// the bare string of old firmware.
type link string

func (l *link) UnmarshalJSON(b []byte) error {
	*l = ""
	if path, ok := resourcePath(reference(b)); ok {
		*l = link(path)
	}
	return nil
}

// reference is what a reference says, in either form.
func reference(b []byte) string {
	if plain, ok := plainReference(b); ok {
		return words.Once(string(bytes.TrimSpace(plain)))
	}
	var id text
	if len(b) > 0 && b[0] == '{' {
		var object struct {
			ID text `json:"@odata.id"`
		}
		_ = json.Unmarshal(b, &object)
		id = object.ID
	} else {
		_ = id.UnmarshalJSON(b)
	}
	return string(id)
}

// links is a list of references; a broken one is left out, and so is one to a part of a resource, which to read
// the whole for would show something else.
type links []link

func (l *links) UnmarshalJSON(b []byte) error {
	*l = nil
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return nil //nolint:nilerr // what cannot be read is left out
	}
	for _, one := range list {
		id := reference(one)
		if path, ok := resourcePath(id); ok && !strings.Contains(id, "#/") && len(*l) < maxMembers {
			*l = append(*l, link(path))
		}
	}
	return nil
}

// collection is a resource collection, or a page of one.
type collection struct {
	Members links
	Next    text `json:"Members@odata.nextLink"`
}

func (c collection) paths() []string {
	paths := make([]string, 0, len(c.Members))
	for _, m := range c.Members {
		paths = append(paths, string(m))
	}
	return paths
}

// status is the Status object that most resources have.
type status struct {
	State        text
	Health       text
	HealthRollup text
}

// resourcePath returns the path of a link, so that whatever host a BMC believes to have,
// only its own address is asked. A fragment points into a resource and is kept
// out (RFC 6901 pointers in "@odata.id" of old schemas).
func resourcePath(id string) (string, bool) {
	if id == "" || len(id) > maxPath {
		return "", false
	}
	if plainPath(id) {
		return id, true
	}
	u, err := url.Parse(id)
	if err != nil || u.Opaque != "" {
		return "", false
	}
	// As it was escaped: "%2f" at the start is no slash, and what starts with
	// none could change the host that it is appended to.
	if path := u.RequestURI(); strings.HasPrefix(path, "/") {
		return path, true
	}
	return "", false
}

// extendedInfo finds what the BMC says of an error (DSP0266, "Error responses"): the message
// id of the first message without registry and version, and its words.
func extendedInfo(body []byte) (id, message string) {
	type info struct {
		MessageID text `json:"MessageId"`
		Message   text
	}
	var e struct {
		Error struct {
			Code    text   `json:"code"`
			Message text   `json:"message"`
			Info    []info `json:"@Message.ExtendedInfo"`
		} `json:"error"`
		Info []info `json:"@Message.ExtendedInfo"`
	}
	if decode(body, &e) != nil {
		return "", ""
	}
	id, message = string(e.Error.Code), string(e.Error.Message)
	for _, i := range append(e.Error.Info, e.Info...) {
		if i.MessageID != "" {
			id, message = string(i.MessageID), string(i.Message)
			break
		}
	}
	return id[strings.LastIndexByte(id, '.')+1:], message
}

// refusesPassword reports whether an error is about the value of a property Password, as far as the BMC names the property: in
// RelatedProperties, or as an argument of a message of the Base registry, such as PropertyValueFormatError.
func refusesPassword(body []byte) bool {
	type info struct {
		MessageID text  `json:"MessageId"`
		Args      texts `json:"MessageArgs"`
		Related   texts `json:"RelatedProperties"`
	}
	var e struct {
		Error struct {
			Info []info `json:"@Message.ExtendedInfo"`
		} `json:"error"`
		Info []info `json:"@Message.ExtendedInfo"`
	}
	if decode(body, &e) != nil {
		return false
	}
	for _, i := range append(e.Error.Info, e.Info...) {
		id := string(i.MessageID[strings.LastIndexByte(string(i.MessageID), '.')+1:])
		if value := strings.HasPrefix(id, "PropertyValue") || strings.HasPrefix(id, "StringValueToo"); value && (slices.ContainsFunc(i.Related, isPassword) || slices.ContainsFunc(i.Args, isPassword)) {
			return true
		}
	}
	return false
}

// isPassword reports whether a name, or a JSON pointer, is that of a property Password.
func isPassword(name string) bool { return name[strings.LastIndexByte(name, '/')+1:] == "Password" }

// printable makes foreign words fit for a log line and a condition.
func printable(s string, limit int) string {
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.TrimSpace(s)
}
