package bmc

import (
	"bytes"
	"strings"
)

// What is here reads what BMCs say nearly always, without a second decoder for each value within a document: encoding/json makes one of some
// 200 bytes for each, and an answer has dozens. Whatever is written in another way is left to encoding/json.

// plainText is what is between the quotes of a JSON string that has nothing but printable ASCII and no escapes.
func plainText(b []byte) (content []byte, ok bool) {
	content, rest, ok := cutText(b)
	return content, ok && len(rest) == 0
}

// cutText is plainText for the first value of b.
func cutText(b []byte) (content, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i, c := range b[1:] {
		switch {
		case c == '"':
			return b[1 : i+1], b[i+2:], true
		case c == '\\' || c < ' ' || c > '~':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// plainReference is what an object says that has a plain "@odata.id" and nothing else.
func plainReference(b []byte) (id []byte, ok bool) {
	b, open := bytes.CutPrefix(b, []byte("{"))
	name, b, named := cutText(trimmed(b))
	b, colon := bytes.CutPrefix(trimmed(b), []byte(":"))
	id, b, ok = cutText(trimmed(b))
	return id, open && named && colon && ok && string(name) == "@odata.id" && string(trimmed(b)) == "}"
}

// plainTexts is a list of plain strings.
func plainTexts(b []byte) (list []string, ok bool) {
	b, open := bytes.CutPrefix(b, []byte("["))
	if !open {
		return nil, false
	}
	if b = trimmed(b); string(b) == "]" {
		return nil, true
	}
	list = make([]string, 0, bytes.Count(b, []byte(`"`))/2)
	for {
		one, rest, ok := cutText(b)
		if !ok {
			return nil, false
		}
		list = append(list, words.Once(string(bytes.TrimSpace(one))))
		switch b = trimmed(rest); {
		case string(b) == "]":
			return list, true
		case len(b) == 0 || b[0] != ',':
			return nil, false
		}
		b = trimmed(b[1:])
	}
}

// trimmed is b without the white space of JSON before it.
func trimmed(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// plainPath reports whether a link is a path that needs no escapes: of unreserved characters (RFC 3986 §2.3).
func plainPath(id string) bool {
	if len(id) < 2 || id[0] != '/' || id[1] == '/' {
		return false
	}
	for _, c := range []byte(id) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte("/-._~", c) < 0 {
			return false
		}
	}
	return true
}
