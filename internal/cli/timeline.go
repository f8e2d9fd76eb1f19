package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/timeline"
	"github.com/farrier-dev/farrier/internal/verb"
)

const (
	// followEvery is the poll interval of --follow.
	followEvery = 2 * time.Second
	// lookTimeout bounds one read.
	lookTimeout = time.Minute
)

// teller holds the flags of `farrier timeline`.
type teller struct {
	kubernetes              cluster
	operatorURL, operatorCA string
	output                  string
	follow, utc             bool
}

func newTimeline() *cobra.Command {
	var t teller
	cmd := &cobra.Command{
		Use:   "timeline SERVER",
		Short: "Show the history of a server in order of time",
		Long: `Lists in order of time what is known about a server: the ordered boots; each request of its machine with the client address, the
status and the number of bytes; the reports of its probe; commands to its BMC; and its states, conditions, events and records.

SERVER is the name or the UUID of a Server. The requests come from the operator address (docs/boot-server.md), which the command finds
through the Kubernetes API and asks with the credentials of the kubeconfig. Older boots, commands and states come from the logbook
(--logbook-directory of 'farrier up' and farrier-manager).`,
		Example: `  farrier timeline --kubeconfig /var/lib/farrier/kubeconfig bmc-0-system-0
  farrier timeline node-7 --follow
  farrier timeline 4c4c4544-0043-3510-8052-b7c04f4e4d32 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("give the name or the UUID of one Server, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	t.bind(cmd.Flags())
	completeNames(cmd, func() *cluster { return &t.kubernetes }, "Server")
	completeValues(cmd, "output", outputs...)
	return cmd
}

func (t *teller) bind(f *pflag.FlagSet) {
	t.bindAddress(f)
	f.BoolVarP(&t.follow, "follow", "F", false, "keep running and print what happens")
	f.BoolVar(&t.utc, "utc", false, "print times in UTC (default: in the local time zone)")
	f.StringVarP(&t.output, "output", "o", "table", "output format: table or json")
}

// bindAddress binds the flags of every command that asks the operator address.
func (t *teller) bindAddress(f *pflag.FlagSet) {
	f.SortFlags = false
	t.kubernetes.bind(f)
	f.StringVar(&t.operatorURL, "operator-url", "", "base `URL` of the operator address (default: from the ConfigMap farrier-operator)")
	f.StringVar(&t.operatorCA, "operator-ca", "", "PEM bundle of the authorities that verify the certificate of the operator address (default: from the ConfigMap, otherwise those of the system)")
}

func (t *teller) run(ctx context.Context, out io.Writer, name string) error {
	if err := checkOutput(t.output); err != nil {
		return err
	}
	if t.follow && t.output == "json" {
		return usage.Errorf("--follow: needs --output table")
	}
	api, boots, at, err := t.connect(ctx)
	if err != nil {
		return err
	}
	source := timeline.Source{API: api, Boots: boots.Boots, Logbook: boots.Logbook, Namespace: t.kubernetes.namespace}
	look := func(ctx context.Context) (*timeline.Timeline, error) {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		server, uuid, err := find(ctx, api, name)
		if err != nil {
			return nil, err
		}
		told, err := source.Read(ctx, server, uuid)
		return told, explainOperator(at.URL, "/boots/"+uuid, err)
	}
	told, err := look(ctx)
	if err != nil {
		return err
	}
	return t.tell(ctx, out, told, look)
}

// connect finds the Kubernetes API and the operator address.
func (t *teller) connect(ctx context.Context) (api client.Client, asked *operator.Client, at operator.Address, err error) {
	api, config, err := t.kubernetes.connect()
	if err != nil {
		return nil, nil, at, err
	}
	if asked, at, err = t.operator(ctx, api, config); err != nil {
		return nil, nil, at, err
	}
	return api, asked, at, nil
}

// operator finds the operator address.
func (t *teller) operator(ctx context.Context, api client.Reader, config *rest.Config) (*operator.Client, operator.Address, error) {
	at, err := t.address(ctx, api)
	if err != nil {
		return nil, at, err
	}
	asked, err := operator.NewClient(config, at)
	if err != nil {
		return nil, at, fmt.Errorf("--operator-url: %w", err)
	}
	return asked, at, nil
}

func (t *teller) tell(ctx context.Context, out io.Writer, told *timeline.Timeline, look func(context.Context) (*timeline.Timeline, error)) error {
	if t.output == "json" {
		return printJSON(out, told)
	}
	p := &timeline.Printer{Out: out, Zone: timeZone(t.utc)}
	if err := errors.Join(p.Header(told), p.Print(told), p.Missing(told)); err != nil || !t.follow {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		told, err := look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = errors.Join(p.Header(told), p.Print(told))
		}
		if err != nil {
			return err
		}
	}
}

// address returns the operator address. Flags take precedence over what Farrier publishes.
func (t *teller) address(ctx context.Context, api client.Reader) (operator.Address, error) {
	at := operator.Address{URL: t.operatorURL}
	if t.operatorCA != "" {
		ca, err := os.ReadFile(t.operatorCA)
		if err != nil {
			return at, fmt.Errorf("--operator-ca: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(ca) {
			return at, fmt.Errorf("--operator-ca: %s holds no PEM certificate", t.operatorCA)
		}
		at.CA = ca
	}
	if at.URL != "" {
		return at, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	published, err := operator.Find(ctx, api, t.kubernetes.namespace)
	where := fmt.Sprintf("ConfigMap %s/%s", t.kubernetes.namespace, operator.Published)
	switch {
	case apierrors.IsNotFound(err):
		return at, fmt.Errorf("--operator-url is required, because %s does not exist. Does Farrier run with --operator-address, and is --manager-namespace right?", where)
	case apierrors.IsForbidden(err):
		return at, fmt.Errorf("--operator-url is required, because this user may not read %s", where)
	case err != nil:
		return at, fmt.Errorf("--kubeconfig: %s: %w", where, err)
	}
	at.URL = published.URL
	if at.CA == nil {
		at.CA = published.CA
	}
	return at, nil
}

// find is the Server of that name or UUID. A machine that names itself has a UUID and no Server.
func find(ctx context.Context, api client.Reader, name string) (*metalv1.Server, string, error) {
	var server metalv1.Server
	err := api.Get(ctx, client.ObjectKey{Name: name}, &server)
	switch {
	case err == nil:
		return &server, server.Spec.SystemUUID, nil
	case apimeta.IsNoMatchError(err):
		return nil, "", fmt.Errorf("--kubeconfig: its API has no Servers: %w", err)
	case apierrors.IsForbidden(err):
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	case !apierrors.IsNotFound(err):
		return nil, "", fmt.Errorf("--kubeconfig: Server %q: %w", name, err)
	}
	uuid, ok := operator.UUID(name)
	if !ok {
		return nil, "", verb.NoServer(ctx, api, name)
	}
	var all metalv1.ServerList
	if err := api.List(ctx, &all); err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: list Servers: %w", err)
	}
	for i := range all.Items {
		if own, _ := operator.UUID(all.Items[i].Spec.SystemUUID); own == uuid {
			return &all.Items[i], uuid, nil
		}
	}
	return nil, uuid, nil
}

// explainOperator says which flag has to do with what went wrong at the operator address.
func explainOperator(at, path string, err error) error {
	var certificate *tls.CertificateVerificationError
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, operator.ErrUnauthorized):
		return fmt.Errorf("--kubeconfig: %s does not know its user: it takes client certificates of --operator-client-ca-file and tokens of its own Kubernetes API (%w)", at, err)
	case errors.Is(err, operator.ErrForbidden):
		return fmt.Errorf("--kubeconfig: its user may not read %s at %s: it needs \"get\" on that path, by nonResourceURLs of a ClusterRole (%w)", path, at, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("--operator-ca: the certificate of %s is not trusted: %w", at, certificate.Err)
	case errors.As(err, &network) && network.Op == "remote error":
		return fmt.Errorf("--kubeconfig: %s does not take its client certificate: %w", at, network.Err)
	}
	return fmt.Errorf("--operator-url: %s: %w", at, err)
}
