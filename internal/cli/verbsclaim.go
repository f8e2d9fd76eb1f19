package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

// cleaning is how long a server that is given back may take until it is clean, with all its disks.
const cleaning = 70 * time.Minute

// powers are the values of flags about power.
var powers = []string{string(metalv1.PowerOn), string(metalv1.PowerOff)}

func newClaim() *cobra.Command {
	var o orderer
	var c verb.Claiming
	var selector, power, until, policy string
	cmd := &cobra.Command{
		Use: "claim NAME --image REFERENCE", Short: "Claim a server and boot it", Args: one("claim"),
		Long: `Makes a ServerClaim, and a Secret for --ignition that is deleted with it, and waits until the machine has fetched all that it boots. An empty
image holds a server without booting it.`,
		Example: `  farrier claim web --image ghcr.io/example/os:1.0 --ignition web.bu
  farrier claim web --image ghcr.io/example/os:1.0 --server rack1-node9 --explain`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Name, c.Namespace = args[0], o.namespace
			if !cmd.Flags().Changed("image") {
				return usage.Errorf(`--image: required; --image "" holds a server without booting it`)
			}
			if err := claimFlags(&c, selector, power, until, policy); err != nil {
				return err
			}
			var err error
			if c.Labels, err = labelsOf(c.Labels); err != nil {
				return err
			}
			if err := readIgnition(&c, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			return o.run(cmd, func(_ context.Context, api client.Client) ([]verb.Order, error) {
				c.API = api
				return verb.Claim(c), nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Image, "image", "", "reference of the OCI image that the machine boots (required)")
	f.StringVar(&c.IgnitionFile, "ignition", "", "file with the Ignition or Butane document for the machine, or - for standard input (default: none)")
	f.StringVar(&c.Server, "server", "", "name of the server (default: any that fits)")
	f.StringToStringVar(&c.Labels, "label", nil, "labels of the claim, such as the watch filter of an installation: key=value,…")
	f.StringVarP(&selector, "selector", "l", "", "labels of the server, as kubectl takes them: key=value,…")
	f.StringVar(&power, "power", string(metalv1.PowerOn), "power of the machine: On or Off")
	f.StringVar(&policy, "boot-policy", string(metalv1.BootPolicyAlways), "what a power-on boots: Always the network, or Once and then the disk")
	f.StringVar(&until, "until", "booted", "what to wait for: booted, or bound to a server")
	o.bind(cmd, 30*time.Minute, true)
	completeValues(cmd, "power", powers...)
	completeValues(cmd, "boot-policy", string(metalv1.BootPolicyAlways), string(metalv1.BootPolicyOnce))
	completeValues(cmd, "until", "booted", "bound")
	completeFlagNames(cmd, "server", &o.kubernetes, "Server")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// claimFlags reads the flags of a claim that have few values.
func claimFlags(c *verb.Claiming, selector, power, until, policy string) (err error) {
	if c.Power = metalv1.Power(power); !slices.Contains(powers, power) {
		return usage.Errorf("--power: %q is neither On nor Off", power)
	}
	if c.UntilBound = until == "bound"; !c.UntilBound && until != "booted" {
		return usage.Errorf("--until: %q is neither booted nor bound", until)
	}
	if c.Once = policy == string(metalv1.BootPolicyOnce); !c.Once && policy != string(metalv1.BootPolicyAlways) {
		return usage.Errorf("--boot-policy: %q is neither Always nor Once", policy)
	}
	if selector == "" {
		return nil
	}
	if c.Selector, err = metav1.ParseToLabelSelector(selector); err != nil {
		return usage.Errorf("--selector: %w", err)
	}
	return nil
}

// readIgnition reads and checks what --ignition names. What is no JSON is Butane.
func readIgnition(c *verb.Claiming, stdin io.Reader, warn io.Writer) error {
	if c.IgnitionFile == "" {
		return nil
	}
	content, err := readFile(c.IgnitionFile, stdin)
	if err != nil {
		return fmt.Errorf("--ignition: %w", err)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return fmt.Errorf("--ignition: %s is empty", c.IgnitionFile)
	}
	format := ""
	if c.Butane = !json.Valid(content); c.Butane {
		format = ignition.FormatButane
	}
	_, warnings, err := ignition.Payload(format, content)
	if err != nil {
		return fmt.Errorf("--ignition: %s: %w", c.IgnitionFile, err)
	}
	for _, w := range warnings {
		fmt.Fprintf(warn, "--ignition: %s: warning: %s\n", c.IgnitionFile, w)
	}
	c.Ignition = content
	return nil
}

func newRelease() *cobra.Command {
	var o orderer
	cmd := &cobra.Command{
		Use: "release CLAIM", Short: "Give the server of a claim back, which wipes it", Args: one("claim"),
		Long: `Deletes the ServerClaim and waits until its server is clean. The data on its disks is gone then, unless the reclaim policy of the Server is
Retain.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				return verb.Release(ctx, verb.Target{API: api, Namespace: o.namespace, Claim: strings.TrimPrefix(args[0], claimPrefix)})
			})
		},
	}
	o.bind(cmd, cleaning, true)
	completeNames(cmd, func() *cluster { return &o.kubernetes }, "ServerClaim", func() client.ListOption { return client.InNamespace(o.namespace) })
	return cmd
}

func newWipe() *cobra.Command {
	var o orderer
	var mode string
	var yes bool
	modes := []string{metalv1.CleanupFull, metalv1.CleanupMetadata}
	cmd := &cobra.Command{
		Use: "wipe SERVER", Short: "Erase the disks of a server that belongs to nobody", Args: one("server"),
		Long: `Erases the disks of a server that no claim has. A server that is Released, or in Error after a cleanup, is cleaned as after any claim. One that is
Available is claimed without an image by a claim wipe-SERVER, which is deleted at once: whoever gives a server back has it wiped. The server of a claim is
not wiped: farrier release gives it back.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if mode != "" && !slices.Contains(modes, mode) {
				return usage.Errorf("--mode: %q is neither %s", mode, strings.Join(modes, " nor "))
			}
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				orders, err := verb.Wipe(ctx, verb.Target{API: api, Namespace: o.namespace, Server: args[0]}, mode)
				if err != nil || yes || o.explain {
					return orders, err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "Erase all disks of %s? Type yes: ", args[0])
				var answer string
				_, _ = fmt.Fscanln(cmd.InOrStdin(), &answer) // no answer is no
				if !strings.EqualFold(answer, "yes") {
					return nil, errors.New("nothing was erased")
				}
				return orders, nil
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "how to wipe a server that is Available: full, or metadata alone (default: full)")
	cmd.Flags().BoolVar(&yes, "yes", false, "erase without asking")
	o.bind(cmd, cleaning, true)
	completeValues(cmd, "mode", modes...)
	completeNames(cmd, func() *cluster { return &o.kubernetes }, "Server")
	return cmd
}

// labelsOf reads key=value,… as labels.
func labelsOf(pairs map[string]string) (map[string]string, error) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if key == "" {
			return nil, usage.Errorf("--label: want key=value")
		}
	}
	return pairs, nil
}
