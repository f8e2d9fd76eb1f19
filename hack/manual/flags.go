package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate env CGO_ENABLED=0 go test -trimpath -buildvcs=false -vet=off -run ^TestThePageOfFlagsIsWhatTheProgramsSay$ -update .

// flagsPage is docs/flags.md: all flags of all programs, as their help describes them.
func flagsPage(programs []*cobra.Command, probe *flag.FlagSet) string {
	var b strings.Builder
	b.WriteString("# Flags\n\nAll flags of all programs. `make generate` writes this page from the programs; their `--help` says the same.\n" +
		"`farrier up`, `farrier-manager` and `farrier-bootserver` also read flags [from a file](manager.md#configuration-file).\n")
	for _, program := range programs {
		commandSection(&b, program)
	}
	fmt.Fprintf(&b, "\n## metalprobe\n\n%s", tableHead)
	probe.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		row(&b, "-"+f.Name, kind, text, f.DefValue)
	})
	return b.String()
}

const tableHead = "| flag | meaning | default |\n|---|---|---|\n"

// commandSection describes a command that has flags of its own, and its subcommands.
func commandSection(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	flags := cmd.NonInheritedFlags()
	flags.SortFlags = false
	head := "\n" + tableHead
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" && cmd.HasParent() {
			return
		}
		b.WriteString(head)
		head = ""
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, text := pflag.UnquoteUsage(f)
		row(b, name, kind, text, f.DefValue)
	})
	for _, sub := range cmd.Commands() {
		commandSection(b, sub)
	}
}

// row is a flag. What is no default, such as an empty text or no list, is left out.
func row(b *strings.Builder, name, kind, text, value string) {
	switch value {
	case "", "false", "[]", "0", "0s":
		value = ""
	default:
		value = "`" + value + "`"
	}
	if kind != "" {
		name += " " + kind
	}
	text = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, text, value)
}
