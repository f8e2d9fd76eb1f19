package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	block   = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	snippet = regexp.MustCompile("`([^`\n]+)`")
	// next begins another command in a line.
	next = regexp.MustCompile(`;|&&|\|\|`)
	// ends of a command in a line of a shell.
	ends = regexp.MustCompile(`\s(?:[|>;&#]|\|\||&&|2>).*$`)
	// markup has the code in a template of the dashboard, and action what is put into it.
	markup = regexp.MustCompile(`<(?:pre|code)>(.*?)</`)
	action = regexp.MustCompile(`\{\{.*?\}\}`)
	// placeholder stands for a subcommand of any name.
	placeholder = regexp.MustCompile(`^(?:[A-Z]+|…|\.\.\.|<.*>|\[.*)$`)
)

// TestTheCommandsThatPagesNameExist, with their flags.
func TestTheCommandsThatPagesNameExist(t *testing.T) {
	ours := map[string]*cobra.Command{}
	for _, cmd := range programs() {
		cmd.InitDefaultHelpCmd()
		cmd.InitDefaultCompletionCmd("bash")
		ours[cmd.Name()] = cmd
	}
	checked := 0
	for _, page := range prose(t) {
		for _, line := range commandLines(page.text) {
			name, args := split(line)
			cmd := ours[name]
			if cmd == nil {
				continue
			}
			checked++
			if problem := check(cmd, args); problem != "" {
				t.Errorf("%s: %q: %s", page.name, line, problem)
			}
		}
	}
	if checked < 150 {
		t.Errorf("%d commands checked: are they looked for as pages write them?", checked)
	}
}

// TestPagesNameEveryCommand beside docs/flags.md, which is a list of them.
func TestPagesNameEveryCommand(t *testing.T) {
	var all strings.Builder
	for _, page := range prose(t) {
		for _, line := range commandLines(page.text) {
			all.WriteString(line + "\n")
		}
	}
	named := map[string]bool{}
	for _, line := range strings.Split(all.String(), "\n") {
		name, args := split(line)
		for i := range args {
			named[strings.Join(append([]string{name}, args[:i+1]...), " ")] = true
		}
		named[name] = true
	}
	var missing []string
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd.Runnable() && !cmd.Hidden && !named[cmd.CommandPath()] {
			missing = append(missing, cmd.CommandPath())
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	for _, cmd := range programs() {
		look(cmd)
	}
	if len(missing) > 0 {
		t.Errorf("no page names %s", strings.Join(missing, ", "))
	}
}

// TestCheck of command lines, as pages have them.
func TestCheck(t *testing.T) {
	cmd := programs()[0]
	for line, wrong := range map[string]bool{
		"farrier status -w --limit=3": false, "sudo X=1 ./bin/farrier image pack a b": false, "farrier COMMAND --help": false, "farrier power on|off node-1 -n x": false,
		"farrier statsu": true, "farrier status --colour": true, "farrier image unpack": true, "farrier status -Z": true,
	} {
		name, args := split(line)
		if problem := check(cmd, args); name != "farrier" || (problem != "") != wrong {
			t.Errorf("%q: %q of %s", line, problem, name)
		}
	}
}

type page struct{ name, text string }

// prose are the pages that people write, those of the dashboard among them.
func prose(t *testing.T) (pages []page) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../../docs/*.md", "../../docs/dev/*.md", "../../*.md", "../../internal/dashboard/page/templates/*.html"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if name := filepath.Base(file); slices.Contains([]string{"flags.md", "CHANGELOG.md", "architecture.md"}, name) { // lists, and a history of what is gone, too
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := page{filepath.Base(file), string(text)}
		if filepath.Ext(file) == ".html" {
			var code strings.Builder
			for _, found := range markup.FindAllStringSubmatch(p.text, -1) {
				code.WriteString("`" + action.ReplaceAllString(found[1], "NAME") + "`\n")
			}
			p.text = code.String()
		}
		pages = append(pages, p)
	}
	return pages
}

// commandLines are the commands in the code of a page. A line that goes on after a backslash is one.
func commandLines(text string) (lines []string) {
	for _, found := range block.FindAllString(text, -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(found, "\\\n", " "), "\n")...)
	}
	for _, found := range snippet.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		lines = append(lines, found[1])
	}
	var commands []string
	for _, line := range lines {
		commands = append(commands, next.Split(line, -1)...)
	}
	return commands
}

// split finds a program and its arguments in a line of a shell. Whoever has it run, and with which variables, does not count.
func split(line string) (program string, args []string) {
	fields := strings.Fields(ends.ReplaceAllString(strings.TrimPrefix(strings.TrimSpace(line), "$ "), ""))
	for i, field := range fields {
		if strings.Contains(field, "=") || field == "sudo" {
			continue
		}
		if strings.Contains(field, "://") {
			break // an address
		}
		return filepath.Base(field), fields[i+1:]
	}
	return "", nil
}

// check says what is wrong with the arguments of a command; empty: nothing.
func check(cmd *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		arg := strings.Trim(args[i], "[]()\"',")
		switch {
		case arg == "--":
			return ""
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			name, _, valued := strings.Cut(arg, "=")
			flag := flagOf(cmd, name)
			if flag == nil {
				return cmd.CommandPath() + " has no flag " + name
			}
			if flag.NoOptDefVal == "" && !valued {
				i++ // its value follows
			}
		case cmd.HasSubCommands():
			if placeholder.MatchString(arg) {
				return ""
			}
			first, _, _ := strings.Cut(arg, "|")
			below := map[string]*cobra.Command{}
			for _, c := range cmd.Commands() {
				below[c.Name()] = c
			}
			found := below[first]
			if found == nil {
				return cmd.CommandPath() + " has no subcommand " + first + ", but " + strings.Join(slices.Sorted(maps.Keys(below)), ", ")
			}
			cmd = found
		}
	}
	return ""
}

// flagOf finds a flag of a command by --NAME or by -N; nil: it has none.
func flagOf(cmd *cobra.Command, name string) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return cmd.Flag(long)
	}
	if flag := cmd.Flags().ShorthandLookup(name[1:2]); flag != nil {
		return flag
	}
	return cmd.InheritedFlags().ShorthandLookup(name[1:2])
}
