package bmcsettings

import (
	"encoding/json"
	"strings"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// maxText bounds a text with its variables put in: each variable may double those before it.
const maxText = 32 << 10

// text is what a variable stands for, or what a setting is with its variables put in. It is behind a pointer so that nobody
// prints it by printing what holds it.
type text struct {
	words *bmc.Secret
	// secret says that a part of it is from a Secret.
	secret bool
}

func textOf(words string, secret bool) text {
	s := bmc.Secret(words)
	return text{words: &s, secret: secret}
}

func (t text) reveal() string {
	if t.words == nil {
		return ""
	}
	return t.words.Reveal()
}

// variables are texts by the keys of their variables.
type variables map[string]text

// expand puts variables into a text: $(KEY) stands for one, $$(KEY) for itself without the first dollar. escape says how they
// are put in. What is no reference stays as it is.
func (v variables) expand(in string, escape func(string) string) (text, error) {
	var out strings.Builder
	secret := false
	for rest := in; rest != ""; {
		at := strings.Index(rest, "$(")
		end := -1
		if at >= 0 {
			end = strings.IndexByte(rest[at:], ')')
		}
		if end < 0 {
			out.WriteString(rest)
			break
		}
		key := rest[at+2 : at+end]
		if at > 0 && rest[at-1] == '$' {
			out.WriteString(rest[:at-1] + "$(" + key + ")")
			rest = rest[at+end+1:]
			continue
		}
		value, known := v[key]
		if !known {
			return text{}, reconcileerror.Terminalf(reasonUnknownVariable, "$(%s) is no variable, or none of those before it; $$(%s) stands for the text", shown(key), shown(key))
		}
		out.WriteString(rest[:at] + escape(value.reveal()))
		secret = secret || value.secret
		if rest = rest[at+end+1:]; out.Len()+len(rest) > maxText {
			return text{}, tooLong()
		}
	}
	if out.Len() > maxText {
		return text{}, tooLong()
	}
	return textOf(out.String(), secret), nil
}

func tooLong() error {
	return reconcileerror.Terminalf(reasonTooLong, "longer than %d bytes", maxText)
}

// plain puts a variable in as it is.
func plain(s string) string { return s }

// quoted puts a variable into a JSON document, so that it can end no string of that.
func quoted(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		return "" // no string can fail
	}
	return string(out[1 : len(out)-1])
}

// maxShown bounds what messages repeat of a name.
const maxShown = 96

func shown(name string) string {
	if len(name) > maxShown {
		return strings.ToValidUTF8(name[:maxShown], "") + "…"
	}
	return name
}
