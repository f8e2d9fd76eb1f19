package bmcevents

import (
	"fmt"
	"strings"
	"testing"
)

func TestDestinationsAreRecognised(t *testing.T) {
	p := NewPaths(testKey)
	for _, base := range []string{"http://192.0.2.1:9000", "https://proxy.example.org/farrier/", "http://[2001:db8::1]:9000"} {
		for _, channel := range []Channel{Alerts, MetricReports} {
			d := p.Destination(base, channel, "uid-1").Reveal()
			if uid, got, ok := p.Parse(d); !ok || uid != "uid-1" || got != channel {
				t.Errorf("a destination below %s is %s of %q, %v", base, got, uid, ok)
			}
		}
	}
	if text := fmt.Sprintf("%v %+v", p.Destination("http://a", Alerts, "u"), p.Destination("http://a", Alerts, "u")); strings.Contains(text, "alerts") {
		t.Errorf("printed: %s", text)
	}
}

func TestForgedDestinationsAreNot(t *testing.T) {
	p := NewPaths(testKey)
	good := p.Destination("http://192.0.2.1", Alerts, "uid-1").Reveal()
	token := good[strings.LastIndex(good, "/")+1:]
	for name, forged := range map[string]string{
		"another BMC":           "http://192.0.2.1/alerts/uid-2/" + token,
		"the other channel":     "http://192.0.2.1/metricreports/uid-1/" + token,
		"no such channel":       "http://192.0.2.1/other/uid-1/" + token,
		"no UID":                "http://192.0.2.1/alerts//" + token,
		"a UID without end":     "http://192.0.2.1/alerts/" + strings.Repeat("u", 65) + "/" + token,
		"no token":              "http://192.0.2.1/alerts/uid-1/",
		"half a token":          good[:len(good)-10],
		"a token and more":      good + "A",
		"a slash behind":        good + "/",
		"nothing":               "",
		"a token alone":         token,
		"another installation":  NewPaths([]byte(strings.Repeat("x", 32))).Destination("http://192.0.2.1", Alerts, "uid-1").Reveal(),
		"in the query":          "http://192.0.2.1/?x=/alerts/uid-1/" + token,
		"not even close to one": "\x00://%%%",
	} {
		if uid, _, ok := p.Parse(forged); ok || uid != "" {
			t.Errorf("%s: taken for a destination of %q", name, uid)
		}
	}
}

func TestAShortKeyMatchesNothing(t *testing.T) {
	for _, p := range []Paths{{}, NewPaths(nil), NewPaths([]byte("short"))} {
		if _, _, ok := p.Parse(p.Destination("http://a", Alerts, "u").Reveal()); ok {
			t.Error("a destination without a secret is accepted")
		}
	}
}

func FuzzParse(f *testing.F) {
	p := NewPaths(testKey)
	f.Add(p.Destination("http://a:1", Alerts, "uid-1").Reveal())
	f.Add("/alerts/uid-1/AAAA")
	f.Add("//alerts//")
	f.Fuzz(func(t *testing.T, destination string) {
		uid, channel, ok := p.Parse(destination)
		if ok && !strings.HasSuffix(p.Destination("", channel, uid).Reveal(), p.token(channel, uid)) {
			t.Errorf("%q is of %q", destination, uid)
		}
	})
}
