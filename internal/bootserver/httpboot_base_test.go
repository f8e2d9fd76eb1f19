package bootserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// TestUKIsOfASite: the UKI that /httpboot names is at the URL of the machine's site, in the address family in which the
// machine boots; the default one at that of the boot server which was asked.
func TestUKIsOfASite(t *testing.T) {
	sites, err := booturl.Parse([]string{
		"http://10.0.0.1:8082", "http://[fd00::1]:8082", "a=http://boot.a.example:8082", "a=http://[fd00:a::1]:8082", "six=http://[fd00:6::1]",
	})
	if err != nil {
		t.Fatal(err)
	}
	const uki, mac, own6 = "/httpboot/r/i/sha256-aa.efi", "02:fa:44:00:00:55", "fd00::5a"
	s := newSite(t, func(c *Config) {
		c.BootURL, c.Sites, c.DefaultUKI = "", sites, func() string { return "http://10.0.0.1:8082/default.efi" }
	})
	for _, c := range []struct{ name, site, base, from, forwarded, want string }{
		{"default site", "", "http://10.0.0.1:8082", "10.0.0.90", "", "http://10.0.0.1:8082" + uki},
		{"default site, IPv6", "", "http://10.0.0.1:8082", own6, "", "http://[fd00::1]:8082" + uki},
		{"a site", "a", "http://boot.a.example:8082", "10.0.0.90", "", "http://boot.a.example:8082" + uki},
		{"a site, IPv6", "a", "http://boot.a.example:8082", own6, "", "http://[fd00:a::1]:8082" + uki},
		{"a site of IPv6 alone", "six", "http://[fd00:6::1]", "10.0.0.90", "", "http://[fd00:6::1]" + uki},
		{"asked for over IPv4", "a", "http://boot.a.example:8082", dhcpServer, own6, "http://[fd00:a::1]:8082" + uki},
		{"asked for with a MAC first", "a", "http://boot.a.example:8082", dhcpServer, mac + ", fe80::1%eth0", "http://[fd00:a::1]:8082" + uki},
		{"asked for by IPv4", "a", "http://boot.a.example:8082", dhcpServer, "10.0.0.90," + mac, "http://boot.a.example:8082" + uki},
		{"asked for by MAC alone", "a", "http://boot.a.example:8082", dhcpServer, mac, "http://boot.a.example:8082" + uki},
		{"somebody else's URL", "a", "http://elsewhere.example", own6, "", "http://elsewhere.example" + uki},
		{"a URL that only looks like it", "a", "http://boot.a.example:80820", own6, "", "http://boot.a.example:80820" + uki},
	} {
		s.view.Put(bootview.Entry{Name: "HTTPBootConfig/ns/s", UUID: uuidSited, BootsFile: true, MACs: []string{mac}, IPs: []string{"10.0.0.90", own6},
			Rank: bootview.Current, Site: c.site, FileURL: c.base + uki})
		var header http.Header
		if c.forwarded != "" {
			header = http.Header{forwardedFor: {c.forwarded}}
		}
		got := s.do("GET", exchange{path: "/httpboot", from: c.from, header: header}).Body.String()
		if !strings.Contains(got, `"UKIURL":"`+c.want+`","SystemUUID":"`+uuidSited+`"`) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// Nobody knows where an unknown machine stands, but whom it asked.
	for _, c := range []struct{ host, from, forwarded, want string }{
		{"10.0.0.1:8082", "10.0.0.91", "", "http://10.0.0.1:8082"},
		{"stranger.example", "10.0.0.91", "", "http://10.0.0.1:8082"},
		{"[fd00::1]:8082", "fd00::91", "", "http://[fd00::1]:8082"},
		{"boot.a.example:8082", "10.0.0.91", "", "http://boot.a.example:8082"},
		{"boot.a.example:8082", dhcpServer, "fd00::91", "http://[fd00:a::1]:8082"},
	} {
		w := s.do("GET", exchange{path: "http://" + c.host + "/httpboot", from: c.from, header: http.Header{forwardedFor: {c.forwarded}}})
		if got := w.Body.String(); !strings.Contains(got, `"UKIURL":"`+c.want+`/default.efi"}`) {
			t.Errorf("%s asks %s for %q: %s, want %s", c.from, c.host, c.forwarded, got, c.want)
		}
	}
}
