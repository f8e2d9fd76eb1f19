package takeover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/test/clients/farrier"
)

const username, password, system = "admin", "kept-by-the-rack", "/redfish/v1/Systems/1"

// bmc is a simulated BMC, behind something that listens to what it is told.
type bmc struct {
	name, mac, uuid string
	direct          string // URL
	port            int32  // where whoever is to be listened to finds it, at 127.0.0.1

	mu    sync.Mutex
	looks int      // at the system
	told  []string // requests that change something
}

// rack starts simulated BMCs whose machines boot from a boot server.
func rack(t *testing.T, servers int, boot string) []*bmc {
	t.Helper()
	folder := t.TempDir()
	endpoints, ports := filepath.Join(folder, "endpoints.yaml"), filepath.Join(folder, "prefixes.yaml")
	farrier.Ready(t, "farrier sim", "sim", "--servers", strconv.Itoa(servers), "--address", "127.0.0.1:0", "--admin-address", "",
		"--password", password, "--print-endpoints", endpoints, "--print-mac-prefixes", ports, "--boot-url", "http://"+boot+"/ipxe/")
	var database struct {
		MACPrefixes []struct {
			MACPrefix string `json:"macPrefix"`
			Port      int    `json:"port"`
		} `json:"macPrefixes"`
	}
	read(t, ports, &database)
	text, err := os.ReadFile(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	var rack []*bmc
	for _, document := range strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var e metalv1.Endpoint
		if err := yaml.Unmarshal([]byte(document), &e); err != nil {
			t.Fatal(err)
		}
		for _, entry := range database.MACPrefixes {
			if entry.MACPrefix == strings.ReplaceAll(e.Spec.MACAddress, ":", "") {
				b := &bmc{name: e.Name, mac: e.Spec.MACAddress, direct: fmt.Sprintf("http://127.0.0.1:%d", entry.Port)}
				b.listen(t)
				b.uuid, _ = b.system(t)["UUID"].(string)
				rack = append(rack, b)
			}
		}
	}
	if len(rack) != servers {
		t.Fatalf("%d of %d BMCs are in %s and %s", len(rack), servers, endpoints, ports)
	}
	return rack
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// listen counts what the BMC is told from here on.
func (b *bmc) listen(t *testing.T) {
	t.Helper()
	target, err := url.Parse(b.direct)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		b.note(r, body)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.port = int32(server.Listener.Addr().(*net.TCPAddr).Port)
}

func (b *bmc) note(r *http.Request, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch own := strings.Contains(r.URL.Path, "/SessionService/") || strings.Contains(r.URL.Path, "/EventService/"); {
	case own: // logins and subscriptions change nothing of a machine
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		b.told = append(b.told, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
	case strings.TrimSuffix(r.URL.Path, "/") == system:
		b.looks++
	}
}

// heard returns how often the system was looked at, and what the BMC was told.
func (b *bmc) heard() (looks int, told []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks, append([]string(nil), b.told...)
}

// tell tells the BMC something as metal-operator did, past the listener.
func (b *bmc) tell(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.direct+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(username, password)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %s %s %v", method, path, response.Status, text, err)
	}
	answer := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

func (b *bmc) system(t *testing.T) map[string]any {
	t.Helper()
	return b.tell(t, http.MethodGet, system, "")
}

// prefixes writes the MAC prefix database of a rack, as metal-operator and Farrier read it.
func prefixes(t *testing.T, rack []*bmc) string {
	t.Helper()
	text := "macPrefixes:\n"
	for _, b := range rack {
		text += fmt.Sprintf("- {macPrefix: %s, manufacturer: Simulated, protocol: Redfish, protocolScheme: http, port: %d, type: bmc, defaultCredentials: [{username: %s, password: factory}], console: {type: IPMI, port: 623}}\n",
			strings.ReplaceAll(b.mac, ":", ""), b.port, username)
	}
	file := filepath.Join(t.TempDir(), "prefixes.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
