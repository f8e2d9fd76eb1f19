package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/version"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for failure, 2 for a
// command line that makes no sense.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var usage usageError
	fmt.Fprintln(stderr, "farrier: "+err.Error())
	if errors.As(err, &usage) {
		fmt.Fprintln(stderr, "See 'farrier --help'.")
		return 2
	}
	return 1
}

// usageError is an error of whoever typed the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "farrier",
		Short:         "From racked metal to booted servers",
		Long:          "Farrier finds servers by their BMCs, learns what they are, keeps them ready, and boots\nthem into the image that whoever claims them names.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newUp(), newSim(), newDemo(), newExplain(), newRender(), newTimeline(), newUnknown(), newImport(), newEmergencyKubeconfig(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "farrier "+version.String())
			return err
		},
	}
}
