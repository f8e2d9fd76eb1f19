package console_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// rack is a simulated rack with SSH servers.
func rack(t *testing.T, o sim.Options) *sim.Rack {
	t.Helper()
	o.Address, o.SSH, o.Seed = "127.0.0.1:0", true, 1
	if o.Servers == 0 {
		o.Servers = 1
	}
	r, err := sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// target is the console of a machine of the rack, as its BMC says.
func target(t *testing.T, r *sim.Rack, i int) console.Target {
	t.Helper()
	info := r.BMCs()[i]
	credentials := bmc.Credentials{Username: sim.DefaultUsername, Password: sim.DefaultPassword}
	c := bmc.NewClient(bmc.Endpoint{Scheme: info.Scheme, Host: info.IP.String(), Port: info.Port}, credentials, bmc.Options{})
	defer func() { _ = c.Close(t.Context()) }()
	systems, err := c.Systems(t.Context())
	if err != nil || len(systems) != 1 {
		t.Fatalf("systems: %v, %v", systems, err)
	}
	return console.Target{
		BMC: info.Name, SSH: bmcssh.Target{Host: info.IP.String(), Credentials: credentials, HostKey: r.SSHHostKey()},
		Wish: console.Wish{Vendor: systems[0].Vendor, Shown: systems[0].Console},
	}
}

// until reads until a text has come.
func until(t *testing.T, s io.Reader, want string) string {
	t.Helper()
	var seen strings.Builder
	buffer := make([]byte, 1024)
	for !strings.Contains(seen.String(), want) {
		n, err := s.Read(buffer)
		seen.Write(buffer[:n])
		if err != nil {
			t.Fatalf("waiting for %q: %v; seen: %q", want, err, seen.String())
		}
	}
	return seen.String()
}

// TestEachMakeHasItsConsole: the console of every make prints the boot of its machine and echoes what is typed.
func TestEachMakeHasItsConsole(t *testing.T) {
	vendors := sim.Vendors()
	r := rack(t, sim.Options{Servers: len(vendors), Vendors: vendors})
	for i, vendor := range vendors {
		t.Run(string(vendor), func(t *testing.T) {
			if _, err := r.Machine(i).Reset("On"); err != nil {
				t.Fatal(err)
			}
			s, err := console.OpenSSH(t.Context(), target(t, r, i))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			until(t, s, "Self test passed")
			if err := s.Resize(120, 40); err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(s, "hello\x1c\x1b(\x1bT there"); err != nil { // with the keys that leave the consoles of makes
				t.Fatal(err)
			}
			if seen := until(t, s, "there"); strings.Contains(seen, ">") {
				t.Errorf("what is typed leads to the command line of the BMC: %q", seen)
			}
		})
	}
}

// TestAConsoleThatThereIsNot: the error names the BMC and says why, and whether to try again.
func TestAConsoleThatThereIsNot(t *testing.T) {
	for name, tc := range map[string]struct {
		vendor sim.Vendor
		fault  fault.Kind
		change func(*console.Target)
		reason string // empty: no Refusal
		says   string
	}{
		"hangs":             {sim.Dell, fault.ConsoleHang, func(c *console.Target) { c.Timeout = 100 * time.Millisecond }, "", "does not answer"},
		"refuses":           {sim.HPE, fault.ConsoleRefuse, nil, console.ReasonPasswordRefused, `refuses the password of "admin"`},
		"says it is off":    {sim.Standard, fault.NoConsole, nil, console.ReasonNoConsole, "ServiceEnabled is false"},
		"off at a program":  {sim.Dell, fault.NoConsole, func(c *console.Target) { c.Shown.Enabled = true }, console.ReasonNoConsole, "Serial over LAN is not enabled"},
		"off at a shell":    {sim.Lenovo, fault.NoConsole, func(c *console.Target) { c.Shown.Enabled = true }, console.ReasonNoConsole, "Serial over LAN is not enabled"},
		"no key accepted":   {sim.Standard, "", func(c *console.Target) { c.SSH.HostKey = "" }, console.ReasonHostKey, "kubectl annotate bmc sim-0001 farrier.dev/ssh-host-key=SHA256:"},
		"another key":       {sim.Standard, "", func(c *console.Target) { c.SSH.HostKey = "SHA256:" + strings.Repeat("A", 43) }, console.ReasonHostKey, "--overwrite"},
		"a password of old": {sim.AMI, "", func(c *console.Target) { c.SSH.Credentials.Password = "of old" }, console.ReasonPasswordRefused, "refuses the password"},
		"IPMI alone":        {sim.Standard, "", func(c *console.Target) { c.Shown = bmc.SerialConsole{}; c.IPMI = true }, console.ReasonNoConsole, "IPMI"},
		"nothing is known":  {sim.Standard, "", func(c *console.Target) { c.Shown = bmc.SerialConsole{} }, console.ReasonNoConsole, "spec.consoleProtocol"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rack(t, sim.Options{Vendors: []sim.Vendor{tc.vendor}})
			if tc.fault != "" {
				if _, err := r.InjectFault(fault.Spec{Kind: tc.fault, BMCs: []int{1}}); err != nil {
					t.Fatal(err)
				}
			}
			c := target(t, r, 0)
			if tc.change != nil {
				tc.change(&c)
			}
			s, err := console.OpenSSH(t.Context(), c)
			if err == nil {
				_, err = io.Copy(io.Discard, s)
				_ = s.Close()
			}
			refusal, refused := errors.AsType[*console.Refusal](err)
			if refused != (tc.reason != "") || refused && refusal.Reason != tc.reason || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the error is %v (%+v), want %q: %q", err, refusal, tc.reason, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), "of old") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}
