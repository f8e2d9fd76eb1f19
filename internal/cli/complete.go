package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/verb"
)

// completeTimeout is how long a shell waits for names.
const completeTimeout = 3 * time.Second

// completeValues has shells offer the values of a flag.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that the command does not have
}

// completeNames has shells offer the names of the objects of a kind for the first argument.
func completeNames(cmd *cobra.Command, where func() *cluster, kind string, options ...func() client.ListOption) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered(cmd.Context(), where(), kind, options...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlagNames has shells offer the names of the objects of a kind for a flag.
func completeFlagNames(cmd *cobra.Command, flag string, where *cluster, kind string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) { // as for completeValues
		return offered(cmd.Context(), where, kind), cobra.ShellCompDirectiveNoFileComp
	})
}

// offered are the names of the objects of a kind, as far as they can be found out at once.
func offered(ctx context.Context, where *cluster, kind string, options ...func() client.ListOption) []string {
	api, _, err := where.connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	var chosen []client.ListOption
	for _, option := range options {
		chosen = append(chosen, option())
	}
	names, _ := verb.Names(ctx, api, kind, chosen...) // a shell has no place for an error: then there are none to offer
	return names
}
