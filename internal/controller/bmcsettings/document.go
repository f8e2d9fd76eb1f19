package bmcsettings

import (
	"encoding/json"
	"errors"
	"strings"
)

func asSyntax(err error, syntax **json.SyntaxError) bool { return errors.As(err, syntax) }

// deep reports whether a document is nested deeper than allowed.
func deep(v any, allowed int) bool {
	if allowed == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			if deep(part, allowed-1) {
				return true
			}
		}
	case []any:
		for _, part := range v {
			if deep(part, allowed-1) {
				return true
			}
		}
	}
	return false
}

// match is how a resource compares with what it shall contain.
type match int

const (
	differs match = iota
	// hidden: what the resource shows is as asked for, and the rest it does not show.
	hidden
	contained
)

// contains compares what a resource shows with what it shall contain: objects may have more members, lists are as long, everything else is
// equal. secret says that a part is from a Secret: those are often shown as nothing, or as asterisks.
func contains(now, wanted any, secret bool) match {
	switch wanted := wanted.(type) {
	case map[string]any:
		object, ok := now.(map[string]any)
		if !ok {
			return differs
		}
		all := contained
		for name, part := range wanted {
			all = min(all, contains(object[name], part, secret))
		}
		return all
	case []any:
		list, ok := now.([]any)
		if !ok || len(list) != len(wanted) {
			return differs
		}
		all := contained
		for i, part := range wanted {
			all = min(all, contains(list[i], part, secret))
		}
		return all
	}
	if now == wanted {
		return contained
	}
	if _, isText := wanted.(string); secret && isText && masked(now) {
		return hidden
	}
	return differs
}

// masked reports whether a value stands in the place of one that is not shown.
func masked(v any) bool {
	s, isText := v.(string)
	return v == nil || isText && strings.Trim(s, "*•") == ""
}
