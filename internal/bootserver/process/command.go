package process

import (
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/configfile"
	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for failure, 2 for an invalid command line.
func Main(args []string, stdout, stderr io.Writer) int {
	return usage.Main(Command(), args, stdout, stderr, os.Interrupt, syscall.SIGTERM)
}

// Command is the command line of farrier-bootserver, as its manual describes it.
func Command() *cobra.Command {
	o := DefaultOptions()
	verbosity := 0
	cmd := &cobra.Command{
		Use:   "farrier-bootserver",
		Short: "Answer machines without Kubernetes credentials",
		Long: `Answers the machines of a site from a view that a manager sends over mutual TLS. It needs no Kubernetes API, goes on while
no manager is there, and brings back afterwards what machines fetched meanwhile.

Files are written below --data-dir alone: cached images, with --view-key-file the last view and what waits for a manager,
and with --join-address the certificate.`,
		Example: `  farrier-bootserver --managers manager.example:8444 --manager-name boot-stream.farrier.example \
    --certificates-dir /etc/farrier/boot-stream --view-key-file /etc/farrier/view.key`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Logger = logr.FromSlogHandler(logging.NewHandler(cmd.ErrOrStderr(), slog.Level(-verbosity)))
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	configfile.Bind(cmd)
	o.Bind(f)
	f.IntVarP(&verbosity, "verbosity", "v", 0, "log level: 0 what Farrier does, 1 also why, 2 everything")
	return cmd
}
