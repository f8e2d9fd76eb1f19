package sim

import (
	"net/http"
	"strings"
	"testing"
)

func TestAdmin(t *testing.T) {
	rack := startRack(t, Options{Servers: 3})
	at, err := rack.StartAdmin(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, base: "http://" + at.String(), header: http.Header{"Content-Type": {"application/json"}}}
	r := c.want(http.StatusOK, http.MethodPost, "/faults", `{"kind":"forbidden","bmcs":[2],"for":"1h"}`)
	if r.body["id"] != "f1" || r.body["state"] != "active" || r.body["for"] != "1h0m0s" {
		t.Errorf("fault %v", r.body)
	}
	rack.client(t, 1).want(http.StatusForbidden, http.MethodGet, systemURI, nil)
	rack.client(t, 2).want(http.StatusOK, http.MethodGet, systemURI, nil)
	for name, body := range map[string]string{
		"kind": `{"kind":"gremlins","bmcs":[1]}`, "key": `{"kind":"hang","bmc":[1]}`, "BMC": `{"kind":"hang","bmcs":[4]}`,
		"duration": `{"kind":"hang","bmcs":[1],"for":5}`, "JSON": `{`, "two": `{"kind":"hang","bmcs":[1]} {}`,
	} {
		if r := c.want(http.StatusBadRequest, http.MethodPost, "/faults", body); r.body["error"] == "" {
			t.Errorf("%s: %v", name, r.body)
		}
	}
	c.want(http.StatusNoContent, http.MethodDelete, "/faults/f1", nil)
	c.want(http.StatusNotFound, http.MethodDelete, "/faults/f1", nil)
	rack.client(t, 1).want(http.StatusOK, http.MethodGet, systemURI, nil)
	c.want(http.StatusOK, http.MethodPost, "/faults", `{"kind":"hang","share":1}`)
	if r := c.want(http.StatusOK, http.MethodDelete, "/faults", nil); len(r.body["cleared"].([]any)) != 1 {
		t.Errorf("cleared %v", r.body)
	}
	if n := len(rack.Faults()); n != 0 {
		t.Errorf("%d faults left", n)
	}

	c.want(http.StatusNoContent, http.MethodPost, "/bmcs/1/password", `{"password":"another one"}`)
	changed := rack.client(t, 0)
	changed.password = "another one"
	changed.want(http.StatusOK, http.MethodGet, systemURI, nil)
	if total := c.want(http.StatusOK, http.MethodGet, "/stats", nil); total.body["requests"] != 4.0 {
		t.Errorf("stats %v", total.body)
	}
	if one := c.want(http.StatusOK, http.MethodGet, "/bmcs/2/stats", nil); one.body["requests"] != 2.0 {
		t.Errorf("stats %v", one.body)
	}
	if _, err := rack.Machine(0).Reset("On"); err != nil {
		t.Fatal(err)
	}
	if boots := c.want(http.StatusOK, http.MethodGet, "/bmcs/1/boots", nil); boots.body[rack.Machine(0).UUID()] == nil {
		t.Errorf("boots %v", boots.body)
	}
	if n := c.want(http.StatusOK, http.MethodPost, "/bmcs/1/metric-report", "{}"); n.body["subscribers"] != 0.0 {
		t.Errorf("metric report %v", n.body)
	}
	c.want(http.StatusNotFound, http.MethodGet, "/bmcs/4/stats", nil)
}

// TestAdminIsForLoopback: neither other hosts nor web pages can reach it.
func TestAdminIsForLoopback(t *testing.T) {
	rack := startRack(t, Options{})
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if _, err := rack.StartAdmin(t.Context(), address); err == nil || !strings.Contains(err.Error(), "admin address") {
			t.Errorf("%s: error %v", address, err)
		}
	}
	at, err := rack.StartAdmin(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	send := func(host, contentType string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at.String()+"/faults", strings.NewReader(`{"kind":"hang","share":1}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", contentType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if status := send("rebound.example", "application/json"); status != http.StatusForbidden {
		t.Errorf("another name: HTTP %d", status)
	}
	if status := send(at.String(), "text/plain"); status != http.StatusUnsupportedMediaType {
		t.Errorf("a form: HTTP %d", status)
	}
	if len(rack.Faults()) != 0 {
		t.Errorf("faults %v", rack.Faults())
	}
}
