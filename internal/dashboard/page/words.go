package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/printable"
	"github.com/farrier-dev/farrier/internal/timeline"
)

// words are the functions of templates.
var words = template.FuncMap{
	"text":    harmless,
	"ago":     ago,
	"since":   func(now time.Time, at *time.Time) string { return ago(now, value(at)) },
	"value":   value,
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"day":     func(t time.Time) string { return t.UTC().Format("2 Jan") },
	"size":    size,
	"bytes":   bytesOf,
	"shape":   shape,
	"kind":    func(state any) string { return shapeOf(fmt.Sprint(state)).class },
	"segment": url.PathEscape,
	"short":   short,
	"plural":  plural,
	"split":   func(name string) [2]string { ns, n, _ := strings.Cut(name, "/"); return [2]string{ns, n} },
	"took":    func(seconds float64) string { return diagnosis.Duration(seconds * float64(time.Second)).String() },
	"mark":    mark,
	"why":     func(now time.Time, why *diagnosis.Answer) whyShown { return whyShown{now, why} },
	"table":   func(now time.Time, conditions any) tableShown { return tableShown{now, conditions} },
}

// whyShown and tableShown are what the parts of several pages see.
type whyShown struct {
	Now time.Time
	Why *diagnosis.Answer
}
type tableShown struct {
	Now        time.Time
	Conditions any
}

// harmless keeps what machines and other programs have written from doing anything to whoever reads it: what cannot be printed, and what turns
// the direction of the text, becomes a replacement character.
func harmless(text any) string { return printable.With(unicode.ReplacementChar, fmt.Sprint(text)) }

func value(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// ago is how long before now something was. Clocks differ: what is ahead of ours is now.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return diagnosis.Duration(max(now.Sub(at), 0)).String()
}

// size is a number of bytes as people read it.
func size(n int64) string {
	const step = 1024
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	at := 0
	for value >= step && at < len(units)-1 {
		value, at = value/step, at+1
	}
	if at == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[at])
	}
	return fmt.Sprintf("%.1f %s", value, units[at])
}

// bytesOf is a quantity of bytes; empty: nobody has said.
func bytesOf(q *resource.Quantity) string {
	if q == nil || q.Sign() <= 0 {
		return ""
	}
	return size(q.Value())
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// short is enough of a digest to tell it from others.
func short(digest string) string {
	const shown = 19 // sha256: and twelve digits
	if len(digest) > shown {
		return digest[:shown] + "…"
	}
	return digest
}

// shapes are how states look: by a shape and a class, so that nobody needs the colour.
type stateShape struct{ shape, class string }

var shapes = map[string]stateShape{
	"Initial": {"○", "moves"}, "Discovery": {"◔", "moves"}, "Available": {"●", "free"}, "Reserved": {"■", "used"}, "Cleanup": {"◆", "moves"},
	"Released": {"◧", "rests"}, "Maintenance": {"▲", "rests"}, "Parked": {"‖", "rests"}, "Error": {"✕", "wrong"},
	bmcAnswers: {"●", "free"}, bmcFails: {"✕", "wrong"}, bmcUnheard: {"○", "rests"},
	rolloutDone: {"●", "free"}, rolloutGoes: {"◔", "moves"}, rolloutFailed: {"✕", "wrong"}, rolloutWaits: {"○", "rests"},
	"Bound": {"■", "used"}, "Unbound": {"○", "moves"}, "Deleting": {"◆", "moves"},
	"On": {"▮", "on"}, "Off": {"▯", "off"},
	"True": {"●", "plain"}, "False": {"○", "plain"}, "Unknown": {"?", "rests"},
	string(diagnosis.Fine): {"●", "free"}, string(diagnosis.Waiting): {"◔", "moves"}, string(diagnosis.Trouble): {"✕", "wrong"},
}

func shapeOf(state string) stateShape {
	if s, ok := shapes[state]; ok {
		return s
	}
	return stateShape{"·", "rests"}
}

func shape(state any) string { return shapeOf(fmt.Sprint(state)).shape }

// mark is the class of an entry of a timeline.
func mark(e timeline.Entry) string {
	if e.Bad {
		return "bad"
	}
	switch e.Kind {
	case timeline.KindBoot, timeline.KindRequest, timeline.KindReport:
		return "boot"
	case timeline.KindCommand:
		return "command"
	case timeline.KindState:
		return "state"
	case timeline.KindConsole:
		return "console"
	}
	return "other"
}
