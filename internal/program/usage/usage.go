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
	// misuse is a command line that makes no sense.
	misuse
)

// Main runs a command line until it is done or one of the signals comes, and returns the exit code: 0 for success, 1 for
// failure, 2 for a command line that makes no sense.
func Main(root *cobra.Command, args []string, stdout, stderr io.Writer, signals ...os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	prepare(root)
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
	return failure
}

// prepare gives a command and all below it what they have in common.
func prepare(cmd *cobra.Command) {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Version = version.String()
	cmd.SetVersionTemplate("{{.Root.Name}} {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Error(flagError(cmd, err)) })
	for _, below := range cmd.Commands() {
		prepare(below)
	}
}

// wrong is an error of whoever typed the command.
type wrong struct{ error }

// Unwrap returns what is wrong.
func (w wrong) Unwrap() error { return w.error }

// Error marks an error as one of whoever typed the command. It is nil for nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return wrong{err}
}

// Errorf is Error for an error that is made of a format.
func Errorf(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }

// NoArgs refuses arguments: of a command that has others below it, those are names of commands that there are not.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return Errorf("unknown command %q%s", args[0], meant(similarCommands(cmd, args[0])))
	}
	return Errorf("unexpected argument %q: %s takes none", args[0], cmd.CommandPath())
}

// Args marks what others find wrong with arguments.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return Error(check(cmd, args)) }
}
