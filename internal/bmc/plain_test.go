package bmc

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkPlain: what is read without encoding/json is what encoding/json and net/url read.
func checkPlain(t interface{ Errorf(string, ...any) }, b []byte) (plain bool) {
	if content, ok := plainText(b); ok {
		plain = true
		var want string
		if err := json.Unmarshal(b, &want); err != nil || string(content) != want {
			t.Errorf("text %q: %q, want %q, %v", b, content, want, err)
		}
	}
	if id, ok := plainReference(b); ok {
		plain = true
		var want map[string]string
		if err := json.Unmarshal(b, &want); err != nil || !maps.Equal(want, map[string]string{"@odata.id": string(id)}) {
			t.Errorf("reference %q: %q, want %q, %v", b, id, want, err)
		}
	}
	if list, ok := plainTexts(b); ok {
		plain = true
		var want []string
		err := json.Unmarshal(b, &want)
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("list %q: %q, want %q, %v", b, list, want, err)
		}
	}
	if id := string(b); plainPath(id) {
		plain = true
		if u, err := url.Parse(id); err != nil || u.Host != "" || u.RequestURI() != id {
			t.Errorf("path %q: %v, %v", id, u, err)
		}
	}
	return plain
}

// TestPlain: what BMCs say nearly always is read without encoding/json, and all that is not as plain is left to it.
func TestPlain(t *testing.T) {
	for b, want := range map[string]bool{
		`"On"`: true, `""`: true, `" a b "`: true, `"a`: false, `"a"b"`: false, `"a\"b"`: false, `"\u00e4"`: false, `"ä"`: false, "\"a\tb\"": false, `a`: false, ``: false,
		`{"@odata.id":"/redfish/v1/Systems/1"}`: true, "{ \"@odata.id\" :\n\t\"/a\" }": true,
		`{"@odata.id":"/a","b":1}`: false, `{"@odata.id":"/a",}`: false, `{"@odata.id" "/a"}`: false, `{"@odata.ID":"/a"}`: false, `{"@odata.id":1}`: false, `{`: false, `{}`: false,
		`["On","ForceOff"]`: true, "[ \"a\" ,\r\n\"b\" ]": true, `[]`: true, `[ ]`: true, `[""]`: true,
		`["a",]`: false, `[,"a"]`: false, `["a" "b"]`: false, `["a"`: false, `["a"]]`: false, `[1]`: false, `["a",null]`: false, `[`: false,
		`/redfish/v1/Chassis/1-A_b.c~d`: true, `//elsewhere/x`: false, `/`: false, `/a#b`: false, `/a?b`: false, `/%2f`: false, `/a b`: false, `a/b`: false, `/ä`: false,
	} {
		if got := checkPlain(t, []byte(b)); got != want {
			t.Errorf("%q: plain is %v, want %v", b, got, want)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			`"`, `"a"`, `" b "`, `"@odata.id"`, `[`, `]`, `{`, `}`, `,`, `:`, ` `, "\n", "\v", `\`, `/`, `//`, `/a`, `%`, `#`, `1`, "\x00", "\x7f", "ä",
		})).Draw(r, "parts")
		checkPlain(r, []byte(strings.Join(parts, "")))
	})
}

func FuzzPlain(f *testing.F) {
	for _, b := range []string{`"On"`, `{"@odata.id":"/a"}`, `["a","b"]`, `/redfish/v1`} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkPlain(t, b) })
}

// TestAllocationsOfASystem: a poll reads one system, a manager some hundred a second.
func TestAllocationsOfASystem(t *testing.T) {
	body := []byte(bodies[0])
	read := func() {
		var system systemBody
		if err := decode(body, &system); err != nil {
			t.Fatal(err)
		}
	}
	if got := testing.AllocsPerRun(100, read); got > 18 {
		t.Errorf("%v allocations to read a system, and it was 57 with encoding/json alone", got)
	}
}

// TestALongListIsCut: neither more than maxMembers of it are kept nor the memory of the others, however it is written.
func TestALongListIsCut(t *testing.T) {
	for _, first := range []string{`""`, `"\u0061"`} {
		var list texts
		if err := list.UnmarshalJSON([]byte("[" + first + strings.Repeat(`,"a"`, 10*maxMembers) + "]")); err != nil {
			t.Fatal(err)
		}
		if len(list) != maxMembers || cap(list) > 2*maxMembers {
			t.Errorf("after %s: %d are kept, in the memory of %d", first, len(list), cap(list))
		}
	}
}
