package cli

import (
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/program/usage"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for failure, 2 for an invalid
// command line.
func Main(args []string, stdout, stderr io.Writer) int {
	return usage.Main(Command(), named(os.Args[0], args), stdout, stderr, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// named are the arguments of a program that was called by that name.
func named(program string, args []string) []string {
	if completesForKubectl(program) {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return args
}

// Command is the command line with all its subcommands, as its manual describes it.
func Command() *cobra.Command {
	root := &cobra.Command{
		Use:   "farrier",
		Short: "From racked metal to booted servers",
		Long:  "Farrier discovers servers by their BMCs, inspects them, keeps them clean and ready, and boots\neach claimed server into the image that its claim names.",
		Args:  usage.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newUp(), newStatus(), newDashboard(), newSim(), newDemo(), newExplain(), newRender(), newTimeline(), newConsole(), newWhy(), newUnknown(), newRollout(), newBootServers(), newImport(), newImage(), newCert(clock.RealClock{}), newBackup(), newRestore(), newReset(), newMove(), newEmergencyKubeconfig(), newVersion())
	root.AddCommand(newVerbs()...)
	if isPlugin() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl farrier"}
	}
	explainPlainly(root)
	return root
}

// explainPlainly has a command and all below it say of an API that does not answer nothing but that.
func explainPlainly(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return plain(run(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		explainPlainly(below)
	}
}
