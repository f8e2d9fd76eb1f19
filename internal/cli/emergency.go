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
		Short: "Print a kubeconfig with all rights for one hour",
		Long: `Prints a kubeconfig with all rights in the Kubernetes API of 'farrier up' for one hour, independent of the roles there. Use it if the
administrator's role binding is deleted or a policy refuses every user. It needs only the data directory; the API need not run. The
audit log records its requests under the user farrier-emergency.`,
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
	cmd.Flags().StringVar(&server, "server", "", "`URL` of the Kubernetes API (default: that of the kubeconfig in the data directory)")
	return cmd
}
