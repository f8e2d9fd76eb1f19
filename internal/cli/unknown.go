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
		Short: "List machines that asked for a boot and got nothing",
		Long: `Lists the machines that asked the boot server for a boot within the last day and got nothing, the latest first, with the identity
they reported. SERVER is the Server with that UUID, which has no current boot configuration.

The list comes from the operator address (docs/boot-server.md), which the command finds through the Kubernetes API and asks with the
credentials of the kubeconfig. The boot server keeps the list in memory since its start, at most 16 machines for each address.`,
		Example: `  farrier unknown --kubeconfig /var/lib/farrier/kubeconfig
  farrier unknown -o json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.unknown(cmd.Context(), cmd.OutOrStdout())
		},
	}
	t.bindAddress(cmd.Flags())
	cmd.Flags().BoolVar(&t.utc, "utc", false, "print times in UTC (default: in the local time zone)")
	cmd.Flags().StringVarP(&t.output, "output", "o", "table", "output format: table or json")
	completeValues(cmd, "output", outputs...)
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
	return printUnknown(out, machines, timeZone(t.utc))
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
		_, err := fmt.Fprintln(out, "No machine has asked for a boot and got nothing within the last day, or since the start of the boot server.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LAST\tTIMES\tADDRESS\tUUID\tMAC\tSERIAL\tARCH\tASKED\tSERVER")
	for _, m := range machines {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Last.In(zone).Format(time.DateTime), m.Times, orDash(m.Address),
			orDash(m.UUID), orDash(m.MAC), orDash(m.Serial), orDash(m.Architecture), orDash(m.Path), orDash(m.Server))
	}
	return table.Flush()
}
