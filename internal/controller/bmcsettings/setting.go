package bmcsettings

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

const (
	// maxSettings bounds how many settings one object has, maxTotal all of their texts.
	maxSettings = 512
	maxTotal    = 256 << 10
	maxURI      = 512
)

// setting is one setting with its variables put in.
type setting struct {
	// name is its key in spec.
	name string
	text text
	// method is empty for an attribute. uri and what the resource shall contain are those of a document.
	method, uri string
	document    func() map[string]any
}

// methods are those by which documents are sent.
var methods = []string{http.MethodPatch, http.MethodPost, http.MethodPut}

// settingsOf are the settings of a spec, sorted by their names. Its error, a Terminal, names the one that cannot be what is asked for.
func settingsOf(spec map[string]string, v variables) ([]setting, error) {
	if len(spec) > maxSettings {
		return nil, reconcileerror.Terminalf(reasonTooLong, "spec.settings has %d entries; at most %d are taken", len(spec), maxSettings)
	}
	all := make([]setting, 0, len(spec))
	total := 0
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		s, err := settingOf(name, spec[name], v)
		if err != nil {
			return nil, reconcileerror.Terminal{Reason: reasonOf(err, reasonInvalidValue), Err: fmt.Errorf("spec.settings[%q]: %w", shown(name), err)}
		}
		if total += len(s.text.reveal()); total > maxTotal {
			return nil, reconcileerror.Terminalf(reasonTooLong, "spec.settings are longer than %d bytes with their variables", maxTotal)
		}
		all = append(all, s)
	}
	return all, nil
}

func settingOf(name, value string, v variables) (setting, error) {
	s := setting{name: name}
	method, uri, isDocument := strings.Cut(name, " ")
	if !isDocument && !strings.HasPrefix(name, "/") {
		var err error
		s.text, err = v.expand(value, plain)
		return s, err
	}
	if !slices.Contains(methods, method) {
		return s, reconcileerror.Terminalf(reasonInvalidMethod, "%q is none of the methods %s; a document is written as \"PATCH /redfish/v1/…\"", shown(method), strings.Join(methods, ", "))
	}
	if err := checkURI(uri); err != nil {
		return s, err
	}
	s.method, s.uri = method, uri
	var err error
	if s.text, err = v.expand(value, quoted); err != nil {
		return s, err
	}
	document, err := documentOf(s.text.reveal())
	s.document = func() map[string]any { return document }
	return s, err
}

// checkURI lets only resources of the BMC itself through that are settings.
func checkURI(uri string) error {
	refuse := func(why string) error {
		return reconcileerror.Terminalf(reasonInvalidURI, "URI %q %s", shown(uri), why)
	}
	switch {
	case len(uri) > maxURI:
		return refuse(fmt.Sprintf("is longer than %d bytes", maxURI))
	case !strings.HasPrefix(uri, "/redfish/v1/"):
		return refuse("is not below /redfish/v1")
	case path.Clean(uri) != uri:
		return refuse("is not in its simplest form")
	case strings.ContainsFunc(uri, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("?#%\\", c) }):
		return refuse("has characters that no path of a resource has")
	case strings.Contains(uri, "/Actions/"):
		return refuse("is an action, and no setting")
	case strings.HasPrefix(uri, "/redfish/v1/AccountService/Accounts"), strings.HasPrefix(uri, "/redfish/v1/SessionService/Sessions"):
		return refuse("is an account or a session, by which Farrier itself is logged in: those are for BMCSecrets")
	}
	return nil
}

// documentOf reads a JSON document. Its error repeats nothing of it.
func documentOf(words string) (map[string]any, error) {
	var document map[string]any
	if err := json.Unmarshal([]byte(words), &document); err != nil {
		if syntax := (*json.SyntaxError)(nil); asSyntax(err, &syntax) {
			return nil, reconcileerror.Terminalf(reasonInvalidDocument, "the value is no JSON: there is a mistake at byte %d", syntax.Offset)
		}
		return nil, reconcileerror.Terminalf(reasonInvalidDocument, "the value is no JSON object")
	}
	if len(document) == 0 {
		return nil, reconcileerror.Terminalf(reasonInvalidDocument, "the document asks for nothing")
	}
	if deep(document, maxDepth) {
		return nil, reconcileerror.Terminalf(reasonInvalidDocument, "the document is nested deeper than %d", maxDepth)
	}
	return document, nil
}

// check says why the BMC would refuse an attribute, by a Terminal that repeats nothing of a Secret. value is what is sent.
func (s setting) check(registry bmc.AttributeRegistry, present map[string]any) (value any, err error) {
	attribute, known := registry.Find(s.name, present)
	_, there := present[s.name]
	switch {
	case !known || !there:
		return nil, reconcileerror.Terminalf(reasonUnknownAttribute, "attribute %q: the BMC does not have it", shown(s.name))
	case attribute.ReadOnly:
		return nil, reconcileerror.Terminalf(reasonReadOnlyAttribute, "attribute %q is read-only", shown(s.name))
	case attribute.Type == "Password" && !s.text.secret:
		return nil, reconcileerror.Terminalf(reasonInvalidValue, "attribute %q is a password, which belongs into a Secret: use a variable", shown(s.name))
	}
	if value, err = attribute.Parse(s.text.reveal()); err == nil {
		err = bmc.AttributeRegistry{s.name: attribute}.Check(map[string]any{s.name: value})
	}
	if err != nil && s.text.secret {
		return nil, reconcileerror.Terminalf(reasonInvalidValue, "attribute %q: the value, a part of which is from a Secret, is none that the BMC allows for its type %s", shown(s.name), attribute.Type)
	}
	if err != nil {
		return nil, reconcileerror.Terminal{Reason: reasonInvalidValue, Err: fmt.Errorf("attribute %q: %w", shown(s.name), err)}
	}
	return value, nil
}
