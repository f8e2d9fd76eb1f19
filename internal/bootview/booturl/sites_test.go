package booturl

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSites(t *testing.T) {
	s, err := Parse([]string{
		"http://10.0.0.1:8082/", "http://[fd00::1]:8082", "a=http://boot.a.example", "a=http://[fd00:a::1]/boot",
		"b=https://10.2.0.1:443", "six=http://[fd00:6::1]:8082", "path=http://10.3.0.1/a=b",
	})
	if err != nil {
		t.Fatal(err)
	}
	four, six, mapped := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("::ffff:192.0.2.1")
	for _, c := range []struct{ site, object, four, six string }{
		{"", "http://10.0.0.1:8082", "http://10.0.0.1:8082", "http://[fd00::1]:8082"},
		{"a", "http://boot.a.example", "http://boot.a.example", "http://[fd00:a::1]/boot"},
		{"b", "https://10.2.0.1:443", "https://10.2.0.1:443", "https://10.2.0.1:443"},
		{"six", "http://[fd00:6::1]:8082", "http://[fd00:6::1]:8082", "http://[fd00:6::1]:8082"},
		{"path", "http://10.3.0.1/a=b", "http://10.3.0.1/a=b", "http://10.3.0.1/a=b"},
		{"elsewhere", "http://10.0.0.1:8082", "http://10.0.0.1:8082", "http://[fd00::1]:8082"},
	} {
		b := s.Of(c.site)
		if b.Object() != c.object || b.For(four) != c.four || b.For(mapped) != c.four || b.For(six) != c.six || b.For(netip.Addr{}) != c.object {
			t.Errorf("%q: objects %s, IPv4 %s, IPv6 %s", c.site, b.Object(), b.For(four), b.For(six))
		}
	}
	for host, want := range map[string]string{
		"10.0.0.1:8082": "", "boot.a.example": "a", "boot.a.example:80": "a", "[fd00:a::1]": "a",
		"10.2.0.1": "b", "10.2.0.1:443": "b", "10.2.0.1:80": "", "stranger.example": "", "": "",
	} {
		if got := s.OfHost(host); got != s.Of(want) {
			t.Errorf("host %q: %+v, want the site %q", host, got, want)
		}
	}
	for label, want := range map[string]bool{"": true, "a": true, "A": false, "elsewhere": false} {
		if name, known := s.Name(label); known != want || known && name != label || !known && name != "" {
			t.Errorf("label %q: %q, %v", label, name, known)
		}
	}
	if n := len(s.Bases()); n != 7 {
		t.Errorf("%d URLs", n)
	}
}

func TestHostOfSeveralSites(t *testing.T) {
	s, err := Parse([]string{"http://10.0.0.1", "a=http://proxy/a", "b=http://proxy/b"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.OfHost("proxy").Object(); got != "http://10.0.0.1" {
		t.Errorf("%s for a host of two sites", got)
	}
}

// Beside the listener that the URLs name there may be another, and machines are of the same site there.
func TestAlsoAt(t *testing.T) {
	s, err := Parse([]string{
		"https://10.0.0.1:8443", "a=https://boot.a.example:8443", "a=https://[fd00:a::1]:8443", "b=https://proxy/b", "c=https://proxy/c",
		"d=http://boot.a.example:8083",
	})
	if err != nil {
		t.Fatal(err)
	}
	also := s.AlsoAt("8082")
	for host, want := range map[string]string{
		"10.0.0.1:8082": "", "[fd00:a::1]:8082": "a", "boot.a.example:8443": "a", "boot.a.example:8083": "d",
		"boot.a.example:8082": "", "proxy:8082": "", "stranger.example:8082": "",
	} {
		if got := also.OfHost(host); got != s.Of(want) {
			t.Errorf("host %q: %+v, want the site %q", host, got, want)
		}
	}
	if got := s.OfHost("[fd00:a::1]:8082"); got != s.Of("") {
		t.Errorf("%+v: the sites before have changed", got)
	}
	if !(Sites{}).AlsoAt("8082").IsZero() {
		t.Error("there is a site")
	}
}

func TestDefault(t *testing.T) {
	s, err := Parse([]string{"a=http://10.1.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.WithDefault("http://[fd00::1]:1").Of("b").Object(); got != "http://[fd00::1]:1" {
		t.Errorf("%q as default", got)
	}
	if got := s.Of("b").Object(); got != "" {
		t.Errorf("%q without a default", got)
	}
	if got := Single("http://x").WithDefault("http://y").Of("").Object(); got != "http://x" {
		t.Errorf("%q, and the default was there", got)
	}
	if !(Sites{}).IsZero() || !Single("").IsZero() || Single("http://x").IsZero() {
		t.Error("IsZero")
	}
	if none, err := Parse(nil); err != nil || !none.IsZero() {
		t.Errorf("%+v of nothing, %v", none, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		values []string
		says   string
	}{
		"two names":         {[]string{"http://a", "http://b"}, `"http://b": the default site has the URL http://a already`},
		"two IPv6":          {[]string{"s=http://[::1]", "s=http://[::2]"}, `"s=http://[::2]": site "s" has the IPv6 URL`},
		"name and IPv4":     {[]string{"s=http://10.0.0.1", "s=http://a"}, `site "s"`},
		"empty":             {[]string{""}, `""`},
		"site without URL":  {[]string{"s="}, `""`},
		"empty site":        {[]string{"=http://a"}, `"=http://a"`},
		"no label":          {[]string{"-s=http://a"}, `"-s"`},
		"newline in a site": {[]string{"s\n=http://a"}, "label"},
		"scheme":            {[]string{"tftp://a"}, `"tftp://a"`},
		"no scheme":         {[]string{"10.0.0.1:8082"}, "10.0.0.1:8082"},
		"no host":           {[]string{"http:///x"}, "host"},
		"port alone":        {[]string{"http://:8082"}, "host"},
		"port":              {[]string{"http://a:70000"}, "port"},
		"query":             {[]string{"http://a/?b=c"}, "path"},
		"empty query":       {[]string{"http://a/?"}, "path"},
		"fragment":          {[]string{"http://a/#b"}, "path"},
		"newline":           {[]string{"http://a\nshell"}, "byte 8"},
		"space":             {[]string{"http://a/b c"}, "byte 10"},
		"zone":              {[]string{"http://[fe80::1%25eth0]"}, "zone"},
		"bracket":           {[]string{"http://[fd00::1"}, `"http://[fd00::1"`},
	} {
		if _, err := Parse(c.values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s in it", name, err, c.says)
		}
	}
	for _, value := range []string{"http://u:marker@a", "http://u:marker@[a", "http://u:%zzmarker@a"} {
		if _, err := Parse([]string{value}); err == nil || strings.Contains(err.Error(), "marker") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a=http://[fd00::1]:8082/")
	f.Add("http://10.0.0.1")
	f.Fuzz(func(t *testing.T, value string) {
		s, err := Parse([]string{value})
		if err != nil {
			return
		}
		for _, base := range s.Bases() {
			if again, err := Check(base); err != nil || again != base || strings.ContainsAny(base, " \r\n\t\x00") {
				t.Errorf("%q became %q (%q, %v)", value, base, again, err)
			}
		}
	})
}
