package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/farrier-dev/farrier/internal/program/configfile/configfiletest"
	"github.com/farrier-dev/farrier/test/golden"
)

// TestAFileSetsEveryFlagOfUp: --config takes what the command line takes.
func TestAFileSetsEveryFlagOfUp(t *testing.T) { configfiletest.EveryFlag(t, newUp) }

// TestWhatUpSaysWhenItIsReady: a block to read and to paste from, in which nothing stands that is not there.
func TestWhatUpSaysWhenItIsReady(t *testing.T) {
	full := ready{
		API: "https://127.0.0.1:6443", Kubeconfig: "/var/lib/farrier/kubeconfig", Boot: "http://127.0.0.1:8082", BootCA: "/var/lib/farrier/boot-ca.crt", Registry: "127.0.0.1:5000",
		Sim: 3, Events: "https://127.0.0.1:8443", Operator: "https://127.0.0.1:8444", OperatorCA: "/var/lib/farrier/pki/ca.crt", BootStream: "127.0.0.1:8445",
		sample: "127.0.0.1:5000/farrier/sample:latest", dashboard: true, join: []string{"", "Boot servers connect to 127.0.0.1:8445:", "", "  farrier cert issue NAME"},
	}
	for name, r := range map[string]ready{
		"full":      full,
		"plain":     {API: full.API, Kubeconfig: full.Kubeconfig, Boot: full.Boot, Operator: full.Operator},
		"simulated": {API: full.API, Kubeconfig: full.Kubeconfig, Boot: full.Boot, Operator: full.Operator, Registry: full.Registry, Sim: 3, sample: full.sample, dashboard: true},
		"virtual":   {API: full.API, Kubeconfig: full.Kubeconfig, Boot: full.Boot, Operator: full.Operator, Sim: 2, Consoles: "/var/lib/farrier/sim-vm"},
	} {
		var out bytes.Buffer
		if err := r.print(&out); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, filepath.Join("testdata", "up", name+".txt"), out.String())
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("testdata", "up", "full.json"), string(text)+"\n")
}
