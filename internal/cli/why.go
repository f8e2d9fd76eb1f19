package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/inquiry"
	"github.com/farrier-dev/farrier/internal/logbook"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

func newWhy() *cobra.Command {
	var t teller
	namespace := "default"
	cmd := &cobra.Command{
		Use:   "why SERVER|CLAIM|BMC|MAC|UUID",
		Short: "Say why a server, a claim or a machine is not where it should be",
		Long: `Prints the cause in one sentence, then the next step to take, then the evidence: the first step that is missing, how long it is overdue,
usual causes, and the conditions and requests that say so.

A claim is CLAIM, NAMESPACE/CLAIM or, as for the other commands, claim/CLAIM. A MAC address or a UUID may be that of a machine that Farrier does not know: then the answer says what it
asked for, when and from where, and which Server is closest to it. docs/troubleshooting.md lists all causes.`,
		Example: `  farrier why node-7
  farrier why default/web
  farrier why 52:54:00:12:34:56 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("give one name, MAC address or UUID, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.why(cmd.Context(), cmd.OutOrStdout(), namespace, args[0])
		},
	}
	f := cmd.Flags()
	t.bindAddress(f)
	f.StringVarP(&namespace, "namespace", "n", namespace, "namespace of a claim that is named without one")
	f.BoolVar(&t.utc, "utc", false, "print times in UTC (default: in the local time zone)")
	f.StringVarP(&t.output, "output", "o", "table", "output format: table or json")
	completeValues(cmd, "output", "table", "json")
	completeNames(cmd, func() *cluster { return &t.kubernetes }, "Server")
	return cmd
}

func (t *teller) why(ctx context.Context, out io.Writer, namespace, asked string) error {
	if err := checkOutput(t.output); err != nil {
		return err
	}
	api, config, err := t.kubernetes.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	ask, at, notFound := t.operator(ctx, api, config) // most causes are found without it
	source := inquiry.Source{
		API: api, Manager: t.kubernetes.namespace, Namespace: namespace, Key: offlineKey,
		Boots: func(ctx context.Context, uuid string) (operator.Boots, error) {
			if notFound != nil {
				return operator.Boots{}, notFound
			}
			boots, err := ask.Boots(ctx, uuid)
			return boots, explainOperator(at.URL, "/boots/"+uuid, err)
		},
		Logbook: func(ctx context.Context, name string) ([]logbook.Entry, error) {
			if notFound != nil {
				return nil, notFound
			}
			entries, err := ask.Logbook(ctx, name)
			return entries, explainOperator(at.URL, "/logbook/"+name, err)
		},
		Unknown: func(ctx context.Context) ([]operator.UnknownMachine, error) {
			if notFound != nil {
				return nil, notFound
			}
			machines, err := ask.Unknown(ctx)
			return machines, explainOperator(at.URL, operator.PathUnknown, err)
		},
	}
	facts, err := factsAbout(ctx, source, asked)
	if err != nil {
		return err
	}
	facts.Now = time.Now()
	answer := diagnosis.Explain(facts)
	if t.output == "json" {
		return printJSON(out, answer)
	}
	return answer.Print(out, timeZone(t.utc))
}

// factsAbout reads the facts about a name. The name of a claim may have the prefix that other commands want, unless a namespace is called so. Whoever
// mistypes a name is asked which one was meant.
func factsAbout(ctx context.Context, source inquiry.Source, asked string) (*diagnosis.Facts, error) {
	facts, err := source.Read(ctx, asked)
	claim, prefixed := strings.CutPrefix(asked, claimPrefix)
	if prefixed && errors.Is(err, inquiry.ErrNotFound) {
		if found, again := source.Read(ctx, source.Namespace+"/"+claim); !errors.Is(again, inquiry.ErrNotFound) {
			return found, again
		}
	}
	if !errors.Is(err, inquiry.ErrNotFound) {
		return facts, err
	}
	return nil, fmt.Errorf("%w%s", err, usage.Meant(meant(ctx, source, asked), "%s"))
}

// meant are the names that are like one which nothing has. Claims are named as somebody can type them. A hint that cannot be had is no error.
func meant(ctx context.Context, source inquiry.Source, asked string) []string {
	namespace, name, qualified := strings.Cut(asked, "/")
	prefix := namespace + "/"
	switch {
	case !qualified:
		namespace, name, prefix = source.Namespace, asked, ""
	case prefix == claimPrefix:
		namespace = source.Namespace
	}
	names := func(kind string, options ...client.ListOption) []string {
		all, err := verb.Names(ctx, source.API, kind, options...)
		if err != nil {
			return nil
		}
		return usage.SimilarTo(all, name)
	}
	var similar []string
	for _, claim := range names("ServerClaim", client.InNamespace(namespace)) {
		similar = append(similar, prefix+claim)
	}
	if qualified {
		return similar
	}
	return slices.Concat(names("Server"), similar, names("BMC"))
}
