package pid1

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/probe"
)

func TestReadSettings(t *testing.T) {
	for line, want := range map[string]settings{
		"": {lldp: probe.DefaultLLDPDuration, end: endWait},
		"initrd=initrd ip=any ignition.firstboot=1 ignition.config.url=http://boot:8082/ignition/6f0c?token=t ignition.platform.id=metal console=ttyS0,115200\n": {
			ignitionURL: "http://boot:8082/ignition/6f0c?token=t", lldp: probe.DefaultLLDPDuration, end: endWait,
		},
		`farrier.boot-url=https://boot/ farrier.registry-url="http://boot/probe/t" farrier.server-uuid=u farrier.lldp-duration=0s farrier.end=poweroff quiet`: {
			bootURL: "https://boot", registryURL: "http://boot/probe/t", serverUUID: "u", end: endPowerOff,
		},
		"farrier.end=reboot farrier.lldp-duration=90s": {lldp: 90 * time.Second, end: endReboot},
	} {
		got, problems := readSettings(line)
		if len(problems) > 0 {
			t.Errorf("%s: %v", line, problems)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for line, want := range map[string]string{
		"farrier.boot-url=boot:8082":                                          "farrier.boot-url",
		"farrier.registry-url=ftp://boot/secret":                              "farrier.registry-url",
		"ignition.config.url=file:///etc/secret":                              "ignition.config.url",
		"farrier.lldp-duration=soon":                                          "farrier.lldp-duration",
		"farrier.end=explode":                                                 "farrier.end",
		"ignition.config.url=http://[::1/secret farrier.boot-url=http://boot": "ignition.config.url",
	} {
		got, problems := readSettings(line)
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) || strings.Contains(problems[0].Error(), "secret") {
			t.Errorf("%s: %v", line, problems)
		}
		if got.end != endWait || got.lldp != probe.DefaultLLDPDuration {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestBootServerOf(t *testing.T) {
	for text, want := range map[string]string{
		"http://boot:8082/httpboot/ghcr.io/a/b/sha256-00.efi":   "http://boot:8082",
		"https://[fd00::1]:8082/site/httpboot/r/i/sha256-0.efi": "https://[fd00::1]:8082/site",
		"http://boot/ipxe/":              "http://boot",
		"http://boot/ipxe":               "http://boot",
		"http://boot/boot.ipxe":          "http://boot",
		"http://boot/ignition/u?token=t": "http://boot",
		"http://elsewhere/kernel":        "",
		"tftp://boot/ipxe/":              "",
		"undionly.kpxe":                  "",
		"":                               "",
	} {
		if got := bootServerOf(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

const discoveryIgnition = `{"ignition":{"version":"3.3.0"},"systemd":{"units":[{"name":"other.service","contents":"[Service]\nExecStart=/bin/true"},
{"name":"metalprobe.service","contents":"[Service]\nExecStart=/usr/local/bin/metalprobe --registry-url=http://boot/probe/tok --server-uuid=the-uuid\nRestart=on-failure\n"}]}}`

func TestLocate(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/probe/the-uuid", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("mac") != "02:00:00:00:00:01" || r.URL.Query().Get("serial") != "S 1" {
			http.Error(w, "who?", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"registryURL":"http://boot/probe/tok","serverUUID":"the-uuid"}`))
	})
	mux.HandleFunc("/probe/broken", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) })
	mux.HandleFunc("/probe/empty", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("/probe/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) })
	mux.HandleFunc("/ignition/the-uuid", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(discoveryIgnition)) })
	mux.HandleFunc("/ignition/custom", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ignition":{}}`)) })
	server := httptest.NewServer(mux)
	defer server.Close()

	id := func(uuid string) machineID {
		return machineID{uuid, "S 1", []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}}
	}
	want := destination{"http://boot/probe/tok", "the-uuid"}
	for name, tc := range map[string]struct {
		settings settings
		id       machineID
		offered  []string
		want     destination
		err      string
	}{
		"the command line says it all": {settings{registryURL: "http://r/probe/x"}, id("u"), nil, destination{"http://r/probe/x", "u"}, ""},
		"another UUID":                 {settings{registryURL: "http://r", serverUUID: "other"}, id("u"), nil, destination{"http://r", "other"}, ""},
		"ignition with a unit":         {settings{ignitionURL: server.URL + "/ignition/the-uuid?token=secret"}, id("u"), nil, want, ""},
		"ignition without":             {settings{ignitionURL: server.URL + "/ignition/custom?token=t"}, id("u"), nil, destination{server.URL + "/probe/t", "u"}, ""},
		"ignition without a token":     {settings{ignitionURL: server.URL + "/ignition/custom"}, id("u"), nil, destination{}, "has no token"},
		"no ignition":                  {settings{ignitionURL: server.URL + "/ignition/none?token=secret"}, id("u"), nil, destination{}, "HTTP 404"},
		"a boot server":                {settings{bootURL: server.URL}, id("the-uuid"), []string{"http://127.0.0.1:1/ipxe/"}, want, ""},
		"what DHCP names":              {settings{}, id("the-uuid"), []string{"undionly.kpxe", server.URL + "/httpboot/r/i/sha256-0.efi"}, want, ""},
		"the second of two":            {settings{}, id("the-uuid"), []string{"http://127.0.0.1:1/ipxe/", server.URL + "/ipxe/"}, want, ""},
		"nobody":                       {settings{}, id("the-uuid"), []string{"undionly.kpxe"}, destination{}, "farrier.boot-url="},
		"unknown there":                {settings{bootURL: server.URL}, id("stranger"), nil, destination{}, "no open boot"},
		"no UUID":                      {settings{bootURL: server.URL}, id(""), nil, destination{}, "no open boot"},
		"not JSON":                     {settings{bootURL: server.URL}, id("broken"), nil, destination{}, "not JSON"},
		"an empty answer":              {settings{bootURL: server.URL}, id("empty"), nil, destination{}, "does not say"},
		"too large an answer":          {settings{bootURL: server.URL}, id("large"), nil, destination{}, "more than"},
		"nobody there":                 {settings{ignitionURL: "http://127.0.0.1:1/ignition/u?token=secret"}, id("u"), nil, destination{}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := locator{tc.settings, server.Client()}.locate(t.Context(), tc.id, tc.offered)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the token is in the error: %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(destination{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (locator{settings{bootURL: server.URL}, server.Client()}).locate(ctx, id("the-uuid"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("farrier.boot-url=http://a ignition.config.url=b", []byte(discoveryIgnition))
	f.Fuzz(func(_ *testing.T, line string, ignition []byte) {
		s, _ := readSettings(line)
		_ = bootServerOf(s.ignitionURL)
		_, _ = flagsIn(ignition)
	})
}
