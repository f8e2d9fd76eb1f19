package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

func newRender() *cobra.Command {
	var q question
	bootURL := "http://boot.example:8082"
	cmd := &cobra.Command{
		Use:   "render [SERVER] [--label key=value]... -f FILE",
		Short: "Print the script and the configs that a machine would get",
		Long: `Prints the script that a machine would run, and the configs that the script refers to. Use it to review manifests before
you apply them: it fails if one of the given Profiles or Assignments cannot be served.
The IDs in URLs differ from those of a running system, which has its own key. Webhooks are not called.`,
		Example: `  farrier render -f manifests/ --label uuid=4c4c4544-0043-3510-8052-b7c04f4e4d32
  kustomize build site | farrier render -f - -l buildarch=arm64 -o json`,
		Args: q.oneServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.render(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args, strings.TrimRight(bootURL, "/"))
		},
	}
	q.bind(cmd)
	cmd.Flags().StringVar(&bootURL, "boot-url", bootURL, "base URL of the boot server in scripts")
	return cmd
}

// rendering is what `farrier render -o json` prints.
type rendering struct {
	Assignment string           `json:"assignment"`
	Profile    string           `json:"profile"`
	Revision   string           `json:"revision"`
	Script     string           `json:"script"`
	Configs    []renderedConfig `json:"configs"`
}

type renderedConfig struct {
	Name        string `json:"name"`
	ID          string `json:"id"`
	ContentType string `json:"contentType"`
	Content     string `json:"content"`
}

func (q *question) render(ctx context.Context, stdin io.Reader, out, errOut io.Writer, args []string, base string) error {
	m, view, findings, err := q.ask(ctx, stdin, args)
	if err != nil {
		return err
	}
	broken := 0
	for _, f := range findings {
		level := "warning"
		if f.Broken {
			level, broken = "error", broken+1
		}
		fmt.Fprintf(errOut, "%s: %s %s/%s: %s\n", level, f.Kind, f.Namespace, f.Name, f.Message)
	}
	if m.configured != "" {
		fmt.Fprintf(errOut, "warning: the Server boots by its boot configuration %s, which overrides every assignment\n", m.configured)
	}
	r, err := renderFor(view, m.subject, base)
	if err != nil {
		return err
	}
	if err := r.print(out, q.output); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("errors in the manifests: %d", broken)
	}
	return nil
}

func renderFor(view *profile.View, subject assignment.Subject, base string) (rendering, error) {
	script, err := view.Script(subject, base)
	switch {
	case errors.Is(err, profile.ErrUnassigned):
		return rendering{}, errors.New("no assignment matches the machine")
	case err != nil:
		return rendering{}, fmt.Errorf("assignment %s: %w", script.Assignment.Key(), err)
	}
	r := rendering{
		Assignment: script.Assignment.Key(), Profile: script.Profile.Key(), Revision: script.Profile.Revision,
		Script: string(script.Body), Configs: []renderedConfig{},
	}
	ids := script.Profile.IDs()
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		c, err := view.Config(ids[name], assignment.Subject{})
		if err != nil {
			return rendering{}, fmt.Errorf("config %q: %w", name, err)
		}
		r.Configs = append(r.Configs, renderedConfig{name, ids[name], c.ContentType[0], string(c.Bytes)})
	}
	return r, nil
}

func (r rendering) print(out io.Writer, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	fmt.Fprintf(out, "# assignment %s, profile %s, revision %s\n%s", r.Assignment, r.Profile, r.Revision, lineEnded(r.Script))
	for _, c := range r.Configs {
		fmt.Fprintf(out, "\n# config %s, /config/%s, %s\n%s", c.Name, c.ID, c.ContentType, lineEnded(c.Content))
	}
	return nil
}

func lineEnded(s string) string { return strings.TrimRight(s, "\n") + "\n" }
