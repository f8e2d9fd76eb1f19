package bootserver

import (
	"net/http"
	"strings"
	"testing"
)

// TestLabelsOfAnyMachine: what firmware says badly is read as far as it says anything, and nothing that it says gets a machine what was meant
// for another.
func TestLabelsOfAnyMachine(t *testing.T) {
	const shell = "#!ipxe\nshell\n"
	script := map[string]string{"Content-Type": "text/plain", "Cache-Control": "no-store"}
	wait := map[string]string{"Content-Type": "application/json", "Retry-After": "*", "Cache-Control": "no-store"}
	refused := map[string]string{"Content-Type": "application/json", "Retry-After": ""}
	unassigned := errorBody("NoAssignment", "Nothing is assigned to this machine yet; ask again.")
	exchanges := []exchange{
		{name: "a label that nobody selects by", path: "/ipxe?buildarch=arm64&colour=blue", status: 200, headers: script, want: shell},
		{name: "nothing but such", path: "/ipxe?colour=blue", status: 503, headers: wait, want: unassigned},
		{name: "a label without a key", path: "/ipxe?=x&buildarch=arm64", status: 200, headers: script, want: shell},
		{name: "a label without a value", path: "/ipxe?uuid&serial=&buildarch=arm64", status: 200, headers: script, want: shell},
		{name: "the same label twice, spelled in two ways", path: "/ipxe?arch=aarch64&buildarch=arm64", status: 200, headers: script, want: shell},
		{name: "labels that contradict each other", path: "/ipxe?arch=x86_64&buildarch=arm64", status: 400, headers: refused,
			want: errorBody("BadRequest", `label \"buildarch\": given twice with different values`)},
		{name: "an architecture that nobody has", path: "/ipxe?buildarch=sparc", status: 503, headers: wait, want: unassigned},
		{name: "what is no UUID", path: "/ipxe?uuid=x", status: 503, headers: wait, want: unassigned},
		{name: "half a UUID", path: "/ipxe?uuid=" + uuidS[:18], status: 503, headers: wait, want: unassigned},
		{name: "a command in a label", path: "/ipxe?serial=a%0d%0areboot", status: 400, headers: refused,
			want: errorBody("BadRequest", `label \"serial\": it holds a control character`)},
		{name: "a line in a key", path: "/ipxe?a%0ab=c", status: 400, headers: refused, want: errorBody("BadRequest", `label \"a\\nb\": it holds a control character`)},
		{name: "what is no UTF-8", path: "/ipxe?serial=%ff", status: 400, headers: refused, want: errorBody("BadRequest", `label \"serial\": not UTF-8`)},
		{name: "too many labels", path: "/ipxe?" + strings.Repeat("a=b&", 65), status: 400, headers: refused,
			want: errorBody("BadRequest", `label \"…\": more than 64 labels`)},
		{name: "too long a value", path: "/ipxe?serial=" + strings.Repeat("x", 513), status: 400, headers: refused,
			want: errorBody("BadRequest", `label \"serial\": longer than 512 bytes`)},
		{name: "another method", method: http.MethodPost, path: "/ipxe?buildarch=arm64", status: 405, want: "Method Not Allowed\n"},
	}
	for _, placeholder := range []string{
		"uuid=00000000-0000-0000-0000-000000000000", "uuid=FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "uuid=03000200-0400-0500-0006-000700080009",
		"mac=00-00-00-00-00-00", "serial=To%20Be%20Filled%20By%20O.E.M.", "serial=Default%20string", "serial=0123456789", "asset=No%20Asset%20Tag",
	} {
		exchanges = append(exchanges, exchange{name: "placeholder " + placeholder, path: "/ipxe?" + placeholder + "&buildarch=arm64", status: 200, headers: script, want: shell},
			exchange{name: "nothing but " + placeholder, path: "/ipxe?" + placeholder, status: 503, headers: wait, want: unassigned})
	}
	for _, spelling := range []string{
		uuidS, strings.ToUpper(uuidS), strings.ReplaceAll(uuidS, "-", ""), "%7B" + uuidS + "%7D", "urn:uuid:" + uuidS, "%20" + uuidS + "%20",
	} {
		exchanges = append(exchanges, exchange{name: "UUID " + spelling, path: "/ipxe?mac=02-fa-44-00-01-00&serial=S%201&UUID=" + spelling, status: 200, headers: script, want: "golden:assigned.ipxe"})
	}
	newSite(t, func(c *Config) { c.Profiles = profiles(t, nil) }).run(t, exchanges)
}
