package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	simAdminTimeout = 10 * time.Second
	maxSimAnswer    = 16 << 20
)

func newSimFault() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "Cause faults in a running simulated rack",
		Args:  usage.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var address string
	cmd.PersistentFlags().StringVar(&address, "admin-address", defaultSimAdmin, "host:port of the --admin-address of the running rack")
	cmd.AddCommand(newFaultSet(&address), newFaultClear(&address), newFaultList(&address), newFaultKinds())
	return cmd
}

func newFaultSet(address *string) *cobra.Command {
	var spec fault.Spec
	var kind string
	var after, lasts time.Duration
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Start a fault and print its ID",
		Example: `  farrier sim fault set --kind hang --bmcs 3,7
  farrier sim fault set --kind latency --share 0.1 --value 500ms --for 10m
  farrier sim fault set --kind server-error --bmcs 1 --path '/Systems' --chance 0.5`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec.Kind, spec.After, spec.For = fault.Kind(kind), fault.Duration(after), fault.Duration(lasts)
			if err := spec.Check(); err != nil {
				return usage.Errorf("--%w", err)
			}
			var entry fault.Entry
			if err := simAdmin(cmd.Context(), *address, http.MethodPost, "/faults", spec, &entry); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), entry.ID)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&kind, "kind", "", "kind of the fault; 'farrier sim fault kinds' lists them (required)")
	f.IntSliceVar(&spec.BMCs, "bmcs", nil, "numbers of the affected BMCs; 3 is sim-0003")
	f.Float64Var(&spec.Share, "share", 0, "share of all BMCs that are affected, from 0 to 1, in place of --bmcs")
	f.StringVar(&spec.Path, "path", "", "regular expression of the affected request paths (default: all)")
	f.Float64Var(&spec.Chance, "chance", 0, "share of the affected requests, from 0 to 1 (default: all)")
	f.StringVar(&spec.Value, "value", "", "value of the fault; 'farrier sim fault kinds' tells what each kind takes")
	f.DurationVar(&after, "after", 0, "how long from now the fault starts (default: now)")
	f.DurationVar(&lasts, "for", 0, "how long the fault lasts (default: until 'farrier sim fault clear')")
	return cmd
}

func newFaultClear(address *string) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "clear [ID...]",
		Short: "End faults",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage.Errorf("give the IDs of faults, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return simAdmin(cmd.Context(), *address, http.MethodDelete, "/faults", nil, nil)
			}
			for _, id := range args {
				if err := simAdmin(cmd.Context(), *address, http.MethodDelete, "/faults/"+id, nil, nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end all faults")
	return cmd
}

func newFaultList(address *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the present faults",
		Args:  usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var entries []fault.Entry
			if err := simAdmin(cmd.Context(), *address, http.MethodGet, "/faults", nil, &entries); err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(w, "ID\tKIND\tVALUE\tSTATE\tPATH\tBMCS")
			for _, e := range entries {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Kind, e.Value, e.State, e.Path, numbersOf(e.Struck))
			}
			return w.Flush()
		},
	}
}

// numbersOf prints the first numbers of a list, and the length of a long one.
func numbersOf(struck []int) string {
	const shown = 8
	var words []string
	for _, n := range struck[:min(len(struck), shown)] {
		words = append(words, strconv.Itoa(n))
	}
	text := strings.Join(words, ",")
	if len(struck) > shown {
		text += fmt.Sprintf(",… (%d)", len(struck))
	}
	return text
}

func newFaultKinds() *cobra.Command {
	return &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds of faults and their values",
		Args:  usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(w, "KIND\tWHAT\tVALUE")
			for _, k := range fault.Kinds() {
				value := k.Value
				if k.Default != "" {
					value += " (default " + k.Default + ")"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", k.Kind, k.What, value)
			}
			return w.Flush()
		},
	}
}

// simAdmin sends a request to a running rack.
func simAdmin(ctx context.Context, address, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, simAdminTimeout)
	defer cancel()
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	base := strings.TrimSuffix(address, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, reader)
	if err != nil {
		return fmt.Errorf("--admin-address: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("--admin-address: is 'farrier sim' running there? %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxSimAnswer))
	if err != nil {
		return fmt.Errorf("answer of the rack: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		var refusal struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &refusal) != nil || refusal.Error == "" {
			refusal.Error = resp.Status
		}
		return fmt.Errorf("the rack refuses the request: %s", refusal.Error)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("answer of the rack: %w", err)
	}
	return nil
}
