package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// offlineKey derives the IDs of configs without the key of a system. The IDs are the same in every run, so that
// outputs can be compared.
var offlineKey = []byte("farrier offline")

func newExplain() *cobra.Command {
	var q question
	cmd := &cobra.Command{
		Use:   "explain [SERVER] [--label key=value]...",
		Short: "Show which Profile a machine gets, and why",
		Long: `Lists the Assignments that match a machine, the best match first, with the rule that ranks each one
below the one before it, and the conflicts between them. The machine is a Server, or one that reports the given labels.`,
		Example: `  farrier explain --label uuid=4c4c4544-0043-3510-8052-b7c04f4e4d32 --label buildarch=x86_64
  farrier explain node-7 -o json
  farrier explain -l mac=52:54:00:12:34:56 -f manifests/`,
		Args: q.oneServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.explain(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), args)
		},
	}
	q.bind(cmd)
	return cmd
}

// explanation is what `farrier explain -o json` prints.
type explanation struct {
	Labels            map[string]string   `json:"labels"`
	BootConfiguration string              `json:"bootConfiguration,omitempty"`
	Candidates        []profile.Candidate `json:"candidates"`
}

func (q *question) explain(ctx context.Context, stdin io.Reader, out io.Writer, args []string) error {
	m, view, findings, err := q.ask(ctx, stdin, args)
	if err != nil {
		return err
	}
	e := explanation{Labels: m.subject.Labels(), BootConfiguration: m.configured, Candidates: view.Candidates(m.subject)}
	for i, c := range e.Candidates {
		e.Candidates[i] = found(c, findings)
	}
	if q.output == "json" {
		return printJSON(out, e)
	}
	return e.print(out)
}

// found adds the problem of a profile that cannot be served, which only the findings of its compilation tell.
func found(c profile.Candidate, findings []ipxeapi.Finding) profile.Candidate {
	namespace, _, _ := strings.Cut(c.Assignment, "/")
	for _, f := range findings {
		if f.Broken && f.Kind == "Profile" && f.Namespace == namespace && f.Name == c.Profile {
			c.Problem = "Profile " + f.Name + ": " + f.Message
			break
		}
	}
	return c
}

func (e explanation) print(out io.Writer) error {
	if e.BootConfiguration != "" {
		fmt.Fprintf(out, "The Server boots by its boot configuration %s, which overrides every assignment.\n\n", e.BootConfiguration)
	}
	if len(e.Candidates) == 0 {
		_, err := fmt.Fprintln(out, "No assignment matches. The machine waits, and boots as soon as one matches.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RANK\tASSIGNMENT\tPROFILE\tPRIORITY\tCLASS\tSELECTOR\tAFTER BY")
	for i, c := range e.Candidates {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", i+1, c.Assignment, orDash(c.Profile), c.Priority, c.Class, orDash(c.Selector), orDash(c.Rule))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range e.Candidates {
		if c.Problem != "" {
			fmt.Fprintf(out, "\n%s cannot be served: %s", c.Assignment, c.Problem)
		}
		if c.Conflict != "" {
			fmt.Fprintf(out, "\n%s yields to %s (%s)", c.Assignment, strings.Join(c.Peers, ", "), c.Conflict)
		}
	}
	if e.Candidates[0].Problem != "" {
		fmt.Fprint(out, "\nThe machine waits: it never gets the profile of a lower rank instead.")
	}
	_, err := fmt.Fprintln(out)
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
