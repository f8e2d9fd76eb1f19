package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// completeTimeout is how long a shell waits for names.
const completeTimeout = 3 * time.Second

// completeValues has shells offer the values of a flag.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that the command does not have
}

// completeNames has shells offer the names of the objects of a kind for the first argument. A shell has no place for an error: then there
// are none to offer.
func completeNames(cmd *cobra.Command, where func() *cluster, kind string, options ...func() client.ListOption) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		api, _, err := where().connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		var chosen []client.ListOption
		for _, option := range options {
			chosen = append(chosen, option())
		}
		names, _ := namesOf(ctx, api, kind, chosen...)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// namesOf are the names of all objects of a kind of metal.ironcore.dev.
func namesOf(ctx context.Context, api client.Reader, kind string, options ...client.ListOption) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(metalv1.GroupVersion.WithKind(kind + "List"))
	if err := api.List(ctx, list, options...); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
