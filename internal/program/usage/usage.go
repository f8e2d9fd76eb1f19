package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/program/version"
)

// Exit codes of a command.
const (
	success = iota
	failure
	// misuse is an invalid command line.
	misuse
)

// Main runs a command line until it ends or one of the signals arrives, and returns the exit code: 0 for success, 1 for
// failure, 2 for an invalid command line, or that of an error which has its own.
func Main(root *cobra.Command, args []string, stdout, stderr io.Writer, signals ...os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	Prepare(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return success
	}
	fmt.Fprintf(stderr, "%s: %s\n", root.Name(), err)
	if _, ok := errors.AsType[wrong](err); ok {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
		return misuse
	}
	if own, ok := errors.AsType[exiting](err); ok {
		return own.ExitAs()
	}
	return failure
}

// exiting is an error that a shell tells from others by the exit code.
type exiting interface {
	error
	ExitAs() int
}

// Prepare sets what a command and all its subcommands have in common.
func Prepare(cmd *cobra.Command) {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Version = version.Of().String()
	cmd.SetVersionTemplate("{{.Root.Name}} {{.Version}}\n")
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	cmd.Flags().Lookup("help").Usage = "print this help and exit"
	cmd.Flags().Lookup("version").Usage = "print the version and exit"
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Error(flagError(cmd, err)) })
	for _, below := range cmd.Commands() {
		Prepare(below)
	}
}

// wrong is an error in the command line.
type wrong struct{ error }

// Unwrap returns the error itself.
func (w wrong) Unwrap() error { return w.error }

// Error marks an error as one in the command line. It returns nil for nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return wrong{err}
}

// Errorf is Error with an error that it formats.
func Errorf(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }

// NoArgs refuses arguments. An argument of a command with subcommands is the name of an unknown one.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return Errorf("unknown command %q%s", args[0], Meant(similarCommands(cmd, args[0]), "%q"))
	}
	return Errorf("unexpected argument %q: %s takes none", args[0], cmd.CommandPath())
}

// Args marks the errors of another check as errors in the command line.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return Error(check(cmd, args)) }
}
