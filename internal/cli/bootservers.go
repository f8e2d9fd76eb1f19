package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controller/bootservers"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

func newBootServers() *cobra.Command {
	var kubernetes cluster
	var output string
	var utc bool
	cmd := &cobra.Command{
		Use:   "boot-servers",
		Short: "List boot servers without Kubernetes",
		Long: `Lists the boot servers that may connect to a manager (docs/boot-servers.md), with what the leading manager knows of them. READY is what the
boot server said last. PROBLEMS are the conditions that are not as they should be; -o json has them with their messages.

The list is the ConfigMap farrier-boot-servers of the manager's namespace. There is none before a manager with --boot-stream-address leads.`,
		Example: `  farrier boot-servers --kubeconfig /var/lib/farrier/kubeconfig
  farrier boot-servers -o json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			api, _, err := kubernetes.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookTimeout)
			defer cancel()
			statuses, err := bootservers.ReadStatuses(ctx, api, kubernetes.namespace)
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), listed(statuses))
			}
			return printBootServers(cmd.OutOrStdout(), listed(statuses), timeZone(utc))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	kubernetes.bind(f)
	f.BoolVar(&utc, "utc", false, "print times in UTC (default: in the local time zone)")
	f.StringVarP(&output, "output", "o", "table", "output format: table or json")
	completeValues(cmd, "output", outputs...)
	return cmd
}

// bootServer is one of those that `farrier boot-servers -o json` prints.
type bootServer struct {
	Name string `json:"name"`
	bootservers.Status
}

// listed is a list by sites and names.
func listed(statuses map[string]bootservers.Status) []bootServer {
	all := make([]bootServer, 0, len(statuses))
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		all = append(all, bootServer{name, statuses[name]})
	}
	slices.SortStableFunc(all, func(a, b bootServer) int { return strings.Compare(a.Site, b.Site) })
	return all
}

func printBootServers(out io.Writer, all []bootServer, zone *time.Location) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No boot server may connect, or no manager with --boot-stream-address leads.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSITE\tCONNECTED\tSINCE\tREADY\tCERTIFICATE UNTIL\tPROBLEMS")
	moment := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.In(zone).Format(time.DateTime)
	}
	for _, b := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.Name, orDash(b.Site), is(b, bootservers.ConditionConnected), moment(b.Since),
			is(b, bootservers.ConditionReady), moment(b.CertificateExpires), orDash(problems(b)))
	}
	return table.Flush()
}

// is prints a condition in one word.
func is(b bootServer, condition string) string {
	c := apimeta.FindStatusCondition(b.Conditions, condition)
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
		return "-"
	case c.Status == metav1.ConditionTrue:
		return "yes"
	}
	return "no"
}

// problems are the reasons of conditions that are False and have no column.
func problems(b bootServer) string {
	var reasons []string
	for _, c := range b.Conditions {
		if c.Status == metav1.ConditionFalse && c.Type != bootservers.ConditionConnected && c.Type != bootservers.ConditionReady {
			reasons = append(reasons, c.Reason)
		}
	}
	slices.Sort(reasons)
	return strings.Join(reasons, ",")
}
