package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/farrier-dev/farrier/internal/standalone"
	"github.com/farrier-dev/farrier/internal/system"
)

// upOutputs are the ways in which `farrier up` says that it is ready.
var upOutputs = []string{"text", "json"}

// ready is where everything of a system is. `farrier up -o json` prints it as one line.
type ready struct {
	API        string `json:"api"`
	Kubeconfig string `json:"kubeconfig"`
	Boot       string `json:"boot"`
	BootCA     string `json:"bootCA,omitempty"`
	Registry   string `json:"registry,omitempty"`
	// Sim is the number of simulated or virtual servers, and Consoles the folder of the consoles of virtual ones.
	Sim        int    `json:"sim,omitempty"`
	Consoles   string `json:"consoles,omitempty"`
	Events     string `json:"events,omitempty"`
	Firmware   string `json:"firmware,omitempty"`
	Operator   string `json:"operator,omitempty"`
	OperatorCA string `json:"operatorCA,omitempty"`
	BootStream string `json:"bootStream,omitempty"`

	// sample is an image that simulated machines boot; empty: there is none.
	sample string
	// dashboard says that pages for browsers are served.
	dashboard bool
	join      []string
}

// sayReady tells where everything is.
func sayReady(out io.Writer, s *standalone.System, output string) error {
	r := readyOf(s)
	if output == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	return r.print(out)
}

func readyOf(s *standalone.System) ready {
	r := ready{
		API: s.APIURL, Kubeconfig: s.Kubeconfig, Boot: s.BootURL, Consoles: s.ConsolesDir, Events: s.BMCEventsURL, Firmware: s.FirmwareURL, Operator: s.OperatorURL,
		OperatorCA: s.OwnOperatorCA(), BootStream: s.BootStreamAddress, dashboard: s.HasDashboard(),
	}
	if len(s.BootCA()) > 0 {
		r.BootCA = s.BootCAFile()
	}
	if s.Rack != nil {
		r.Sim = len(s.Rack.BMCs())
	}
	if s.Rack != nil && s.Registry != nil {
		r.Registry = s.Registry.Address()
		if s.ConsolesDir == "" {
			r.sample = s.ImageReference(standalone.SampleRepository)
		}
	}
	if s.BootStreamDir != "" {
		r.join = howToJoin(s)
	}
	return r
}

// print is the block that a person reads, and pastes from.
func (r ready) print(out io.Writer) error {
	fmt.Fprintf(out, "\nFarrier is ready.\n\n  export KUBECONFIG=%s\n\n", r.Kubeconfig)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, place := range []struct{ what, where string }{
		{"Kubernetes API", r.API}, {"boot server", r.Boot}, {"its authority", r.BootCA}, {"image registry", r.Registry}, {"consoles", r.Consoles},
		{"BMC events", r.Events}, {"firmware images", r.Firmware}, {"operators", r.Operator}, {"boot servers join", r.BootStream},
	} {
		if place.where != "" {
			fmt.Fprintf(table, "  %s\t%s\n", place.what, place.where)
		}
	}
	if r.Sim > 0 {
		kind := "simulated"
		if r.Consoles != "" {
			kind = "virtual"
		}
		fmt.Fprintf(table, "  rack\t%d %s servers\n", r.Sim, kind)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, line := range r.join {
		fmt.Fprintln(out, line)
	}
	fmt.Fprint(out, "\nTry, in another terminal:\n\n  farrier status\n")
	switch {
	case r.sample != "":
		fmt.Fprintf(out, "  farrier claim first --image %s\n  farrier release first\n", r.sample)
	case r.Sim == 0:
		fmt.Fprint(out, "  farrier add bmc NAME --ip ADDRESS --username USER\n")
	}
	if r.dashboard {
		fmt.Fprint(out, "  farrier dashboard    # a link for your browser\n")
	}
	_, err := fmt.Fprintln(out)
	return err
}

// howToJoin says where the certificates of the boot stream are and how a boot server gets one.
func howToJoin(s *standalone.System) []string {
	lines := []string{
		"", fmt.Sprintf("Boot servers connect to %s, which is %s and whose certificates are in %s:", s.BootStreamAddress, system.OwnManagerName, s.BootStreamDir), "",
		fmt.Sprintf("  farrier cert issue NAME [--site SITE] --dir %s", s.BootStreamDir),
	}
	if s.BootStreamJoinAddress != "" {
		lines = append(lines, fmt.Sprintf("  farrier cert token NAME [--site SITE] --kubeconfig %s    # and join at %s", s.Kubeconfig, s.BootStreamJoinAddress))
	}
	return lines
}
