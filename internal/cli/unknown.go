package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

func newUnknown() *cobra.Command {
	var t teller
	cmd := &cobra.Command{
		Use:   "unknown",
		Short: "List machines that asked what to boot, and that there is nothing for",
		Long: `Lists the machines that asked the boot server what to boot within the last day and were told that there is nothing for them, the last
one first, as they named themselves. SERVER is the Server with that UUID: none of its boot configurations is current then.

They are asked for at the operator address (docs/boot-server.md), which is found through the Kubernetes API, with the user of
the kubeconfig. They are kept in memory, since the boot server's start: at most 16 of one address.`,
		Example: `  farrier unknown --kubeconfig /var/lib/farrier/kubeconfig
  farrier unknown -o json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.unknown(cmd.Context(), cmd.OutOrStdout())
		},
	}
	t.bindAddress(cmd.Flags())
	cmd.Flags().BoolVar(&t.utc, "utc", false, "times in UTC (default: in the local time zone)")
	cmd.Flags().StringVarP(&t.output, "output", "o", "table", "table or json")
	return cmd
}

// unknownMachine is one of those that `farrier unknown -o json` prints.
type unknownMachine struct {
	operator.UnknownMachine
	Server string `json:"server,omitempty"`
}

func (t *teller) unknown(ctx context.Context, out io.Writer) error {
	if err := checkOutput(t.output); err != nil {
		return err
	}
	api, asked, at, err := t.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := asked.Unknown(ctx)
	if err != nil {
		return explainOperator(at.URL, operator.PathUnknown, err)
	}
	machines, err := withServers(ctx, api, found)
	if err != nil {
		return err
	}
	if t.output == "json" {
		return printJSON(out, machines)
	}
	zone := time.Local
	if t.utc {
		zone = time.UTC
	}
	return printUnknown(out, machines, zone)
}

// withServers adds the Servers that have the UUIDs of machines.
func withServers(ctx context.Context, api client.Reader, found []operator.UnknownMachine) ([]unknownMachine, error) {
	machines := make([]unknownMachine, 0, len(found))
	if len(found) == 0 {
		return machines, nil
	}
	var servers metalv1.ServerList
	if err := api.List(ctx, &servers); err != nil {
		return nil, fmt.Errorf("--kubeconfig: list Servers: %w", err)
	}
	names := map[string]string{}
	for i := range servers.Items {
		if uuid, ok := operator.UUID(servers.Items[i].Spec.SystemUUID); ok {
			names[uuid] = servers.Items[i].Name
		}
	}
	for _, m := range found {
		machines = append(machines, unknownMachine{m, names[m.UUID]})
	}
	return machines, nil
}

func printUnknown(out io.Writer, machines []unknownMachine, zone *time.Location) error {
	if len(machines) == 0 {
		_, err := fmt.Fprintln(out, "No machine has asked in vain within the last day, or since the boot server's start.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LAST\tTIMES\tADDRESS\tUUID\tMAC\tSERIAL\tASKED\tSERVER")
	for _, m := range machines {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Last.In(zone).Format(time.DateTime), m.Times, m.Address,
			orDash(m.UUID), orDash(m.MAC), orDash(m.Serial), orDash(m.Path), orDash(m.Server))
	}
	return table.Flush()
}
