package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/probe"
)

const testUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

type noHardware struct{}

func (noHardware) Collect(context.Context) (inspection.Report, error) {
	return inspection.Report{}, nil
}

func TestParse(t *testing.T) {
	// The flags of the units that run today's agents.
	cfg, err := parse([]string{
		"--registry-url=http://127.0.0.1:1/probe/t", "--server-uuid", testUUID, "--duration=100ms",
		"--registry-client-timeout=1s", "--lldp-sync-interval=50ms", "--lldp-sync-duration=1s",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := probe.Config{
		RegistryURL: "http://127.0.0.1:1/probe/t", ServerUUID: testUUID,
		Duration: 100 * time.Millisecond, ClientTimeout: time.Second,
	}
	if cfg.RegistryURL != want.RegistryURL || cfg.ServerUUID != want.ServerUUID || cfg.Duration != want.Duration || cfg.ClientTimeout != want.ClientTimeout {
		t.Errorf("%+v, want %+v", cfg, want)
	}
}

func TestParseNamesTheFlag(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--registry-url"},
		{[]string{"--registry-url=http://127.0.0.1:1"}, "--server-uuid"},
		{[]string{"--duration=long"}, "-duration"},
		{[]string{"extra"}, `"extra"`},
	} {
		if _, err := parse(tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v does not name %s", tc.args, err, tc.want)
		}
	}
}

func TestRunReports(t *testing.T) {
	got := make(chan inspection.Registration, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reg, err := inspection.Decode(r.Body, 1<<20)
		if err != nil || r.URL.Path != "/probe/t/register" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- reg
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	err := run(t.Context(), []string{"--registry-url=" + server.URL + "/probe/t", "--server-uuid=" + testUUID}, io.Discard, noHardware{})
	if err != nil {
		t.Fatal(err)
	}
	if reg := <-got; reg.SystemUUID != testUUID || reg.Data.Timestamp.IsZero() {
		t.Errorf("registration %+v", reg)
	}
}
