package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

func newMaintain() *cobra.Command {
	var o orderer
	var m verb.Maintaining
	var end bool
	leds := []string{string(metalv1.IndicatorLEDLit), string(metalv1.IndicatorLEDBlinking), string(metalv1.IndicatorLEDOff)}
	policies := []string{string(metalv1.ServerMaintenancePolicyOwnerApproval), string(metalv1.ServerMaintenancePolicyEnforced)}
	cmd := &cobra.Command{
		Use: "maintain SERVER", Short: "Have a server to yourself, or give it back", Args: one("server"),
		Long: `Makes a ServerMaintenance maintain-SERVER and waits until it has the server (docs/maintenance.md). --end deletes it, and the server returns to
where it was. With the policy OwnerApproval the owner of a claim approves first.`,
		Example: `  farrier maintain rack1-node9 --reason "disk 3 reports reallocated sectors" --power Off --led Blinking
  farrier maintain --end rack1-node9`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for flag, check := range map[string]struct {
				value string
				known []string
			}{"power": {string(m.Power), powers}, "led": {string(m.LED), leds}, "policy": {string(m.Policy), policies}} {
				if check.value != "" && !slices.Contains(check.known, check.value) {
					return usage.Errorf("--%s: %q is not one of %s", flag, check.value, strings.Join(check.known, ", "))
				}
			}
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				t := verb.Target{API: api, Namespace: o.namespace, Server: args[0]}
				if end {
					return verb.EndMaintenance(ctx, t)
				}
				return verb.Maintain(ctx, t, m)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&end, "end", false, "end the maintenance that this command began")
	f.StringVar(&m.Reason, "reason", "", "why, for the owner of the claim")
	f.StringVar((*string)(&m.Policy), "policy", policies[0], "OwnerApproval waits for the owner of the claim, Enforced does not")
	f.StringVar((*string)(&m.Power), "power", "", "power of the machine meanwhile: On or Off (default: as it is)")
	f.StringVar((*string)(&m.LED), "led", "", "light of the machine meanwhile: Lit, Blinking or Off (default: as it is)")
	o.bind(cmd, time.Hour, true)
	completeValues(cmd, "policy", policies...)
	completeValues(cmd, "power", powers...)
	completeValues(cmd, "led", leds...)
	completeNames(cmd, func() *cluster { return &o.kubernetes }, "Server")
	return cmd
}

func newAdd() *cobra.Command {
	group := &cobra.Command{
		Use: "add", Short: "Make hardware known", Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newAddBMC())
	return group
}

func newAddBMC() *cobra.Command {
	var o orderer
	var a verb.Adding
	var passwordFile string
	cmd := &cobra.Command{
		Use: "bmc NAME --ip ADDRESS --username USER", Short: "Make a BMC known", Args: one("BMC"),
		Long: `Makes a BMC and a BMCSecret of one name, and waits until the BMC answers. Its servers follow by themselves. The password comes from
--password-file, or is asked for at a terminal.`,
		Example: `  farrier add bmc rack1-node8 --ip 192.0.2.8 --username admin --password-file password
  farrier add bmc rack1-node8 --ip 192.0.2.8 --username admin --label rack=r1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Name = args[0]
			if a.IP == "" || a.Username == "" {
				return usage.Errorf("--ip and --username: required")
			}
			if a.Scheme != metalv1.SchemeHTTPS && a.Scheme != metalv1.SchemeHTTP {
				return usage.Errorf("--scheme: %q is neither https nor http", a.Scheme)
			}
			var err error
			if a.Labels, err = labelsOf(a.Labels); err != nil {
				return err
			}
			if !o.explain {
				if a.Password, err = password(passwordFile, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
					return err
				}
			}
			return o.run(cmd, func(_ context.Context, api client.Client) ([]verb.Order, error) {
				a.API = api
				return verb.AddBMC(a), nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.IP, "ip", "", "IP address of the BMC (required)")
	f.StringVar(&a.Username, "username", "", "user name at the BMC (required)")
	f.StringVar(&passwordFile, "password-file", "", "file with the password, or - for standard input (default: ask at the terminal)")
	f.StringVar(&a.MAC, "mac", "", "MAC address of the BMC, for information")
	f.StringVar((*string)(&a.Scheme), "scheme", string(metalv1.SchemeHTTPS), "https or http")
	f.Int32Var(&a.Port, "port", 0, "port of the BMC; 0: that of the scheme")
	f.StringToStringVar(&a.Labels, "label", nil, "labels of the BMC, which its servers get too: key=value,…")
	o.bind(cmd, 5*time.Minute, false)
	completeValues(cmd, "scheme", string(metalv1.SchemeHTTPS), string(metalv1.SchemeHTTP))
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// password reads a password from a file, or asks for it.
func password(file string, stdin io.Reader, prompt io.Writer) (string, error) {
	if file != "" {
		content, err := readFile(file, stdin)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w", err)
		}
		return strings.TrimRight(string(content), "\r\n"), nil
	}
	terminal, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", usage.Errorf("--password-file: required, because there is no terminal to ask at")
	}
	fmt.Fprint(prompt, "Password: ")
	typed, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(prompt)
	return string(typed), err
}
