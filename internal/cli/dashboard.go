package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newDashboard() *cobra.Command {
	var t teller
	cmd := &cobra.Command{
		Use: "dashboard", Short: "Print a link that signs a browser in once",
		Long: `Asks the operator address for a link to the dashboard, with the credentials of the kubeconfig. The browser that follows it first, within two
minutes, sees and does what this user may (docs/dashboard.md).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.link(cmd.Context(), cmd.OutOrStdout()) },
	}
	t.bindAddress(cmd.Flags())
	return cmd
}

// link prints a link of the dashboard.
func (t *teller) link(ctx context.Context, out io.Writer) error {
	_, asked, at, err := t.connect(ctx)
	if err != nil {
		return err
	}
	link, err := asked.DashboardLink(ctx)
	if err != nil {
		return explainOperator(at.URL, "/dashboard/link", err)
	}
	_, err = fmt.Fprintf(out, "%s%s\n", strings.TrimRight(at.URL, "/"), link.Path)
	return err
}
