package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/standalone"
)

func newEmergencyKubeconfig() *cobra.Command {
	var dataDir, server string
	cmd := &cobra.Command{
		Use:   "emergency-kubeconfig",
		Short: "Print a kubeconfig that may do everything for an hour",
		Long: `Prints a kubeconfig that may do everything in the Kubernetes API of 'farrier up' for an hour, whatever the roles there say. It is for
the day on which the administrator's role binding was deleted or a policy refuses everybody, and needs nothing but the data directory:
the API need not run, and notices the certificate first when it is used. The audit log names its user, farrier-emergency.`,
		Example: `  umask 077; farrier emergency-kubeconfig --data-dir /var/lib/farrier > emergency
  kubectl --kubeconfig emergency create clusterrolebinding farrier:admins --clusterrole farrier:admins --group farrier:admins`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			content, err := standalone.EmergencyKubeconfig(dataDir, server, time.Now())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(content)
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&dataDir, "data-dir", standalone.DefaultOptions().DataDir, "data directory of 'farrier up'")
	cmd.Flags().StringVar(&server, "server", "", "`URL` of the Kubernetes API (default: as in the kubeconfig of the data directory)")
	return cmd
}
