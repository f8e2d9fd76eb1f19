package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/controller/registrations"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// longestToken is how long a token may be good: it lies around in scripts and histories.
const longestToken = 7 * 24 * time.Hour

func newCertToken(times clock.PassiveClock) *cobra.Command {
	var kubernetes cluster
	var site string
	var valid time.Duration
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token with which a boot server joins once",
		Long: `Prints a token with which one boot server gets its first certificate, for NAME, from a manager that issues certificates itself. Its hash is
kept in the Secret farrier-boot-servers of the manager's namespace. A token that was made for NAME before is good no more. A boot server that
has the name keeps it until the token is used.`,
		Example: `  farrier cert token boot-1.north.example --site north --valid 15m`,
		Args:    usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := peer.CheckName(args[0])
			if err != nil {
				return usage.Errorf("NAME: %w", err)
			}
			if err := peer.CheckSite(site); err != nil {
				return usage.Errorf("--site: %w", err)
			}
			if valid < time.Minute || valid > longestToken {
				return usage.Errorf("--valid: %s is not between 1m and %s", valid, longestToken)
			}
			api, _, err := kubernetes.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookTimeout)
			defer cancel()
			token, err := enroll.NewToken(ctx, &registrations.Store{Client: api, Namespace: kubernetes.namespace}, name, site, times.Now().Add(valid))
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&site, "site", "", "site of the boot server (default: none)")
	f.DurationVar(&valid, "valid", time.Hour, "how long the token is good")
	kubernetes.bind(f)
	return cmd
}
