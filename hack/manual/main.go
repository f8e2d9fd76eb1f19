// Command manual writes manual pages and completions of shells for all our programs, from their flags: DIR/man, DIR/bash, DIR/zsh and DIR/fish.
// Its tests write docs/flags.md of the same flags, and docs/reference/api.md of the definitions of our kinds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/farrier-dev/farrier/internal/bootserver/process"
	"github.com/farrier-dev/farrier/internal/cli"
	"github.com/farrier-dev/farrier/internal/manager"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

func main() {
	dir := flag.String("dir", "", "folder to write to")
	version := flag.String("version", "", "version that manual pages name")
	seconds := flag.Int64("time", 0, "time that manual pages name, in seconds since 1970")
	flag.Parse()
	if err := write(*dir, *version, time.Unix(*seconds, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(dir, version string, at time.Time) error {
	if dir == "" {
		return errors.New("-dir: is required")
	}
	// Some defaults depend on who runs the program. The page is for whoever runs it as a service.
	if err := os.Setenv("XDG_DATA_HOME", "/var/lib"); err != nil {
		return err
	}
	for _, kind := range []string{"man", "bash", "zsh", "fish"} {
		if err := os.MkdirAll(filepath.Join(dir, kind), 0o755); err != nil {
			return err
		}
	}
	for _, cmd := range programs() {
		header := doc.GenManHeader{Section: "1", Date: &at, Source: "Farrier " + version, Manual: "Farrier"}
		cmd.DisableAutoGenTag = true // it would name the day on which the page was made
		name := cmd.Name()
		if err := errors.Join(
			doc.GenManTree(cmd, &header, filepath.Join(dir, "man")),
			cmd.GenBashCompletionFileV2(filepath.Join(dir, "bash", name), true),
			cmd.GenZshCompletionFile(filepath.Join(dir, "zsh", "_"+name)),
			cmd.GenFishCompletionFile(filepath.Join(dir, "fish", name+".fish"), true),
		); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// programs are ours, as far as they are made of subcommands.
func programs() []*cobra.Command {
	all := []*cobra.Command{cli.Command(), manager.Command(), process.Command()}
	for _, cmd := range all {
		usage.Prepare(cmd)
	}
	return all
}
