package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/system"
)

// question is which machine is meant, and where the objects are.
type question struct {
	labels     []string
	files      []string
	namespace  string
	kubeconfig string
	output     string
	timeout    time.Duration
}

func (q *question) bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringArrayVarP(&q.labels, "label", "l", nil, "a label of the machine, key=value, as its iPXE would report it; may be repeated")
	f.StringArrayVarP(&q.files, "filename", "f", nil, "manifests in place of a cluster: a file, a folder, or - for standard input; may be repeated")
	f.StringVarP(&q.namespace, "namespace", "n", "default", "namespace of manifests that name none")
	f.StringVar(&q.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: $KUBECONFIG, then ~/.kube/config)")
	f.DurationVar(&q.timeout, "request-timeout", 30*time.Second, "how long one request to the cluster may take")
	f.StringVarP(&q.output, "output", "o", "table", "table or json")
}

func (q *question) check() error {
	if q.timeout <= 0 {
		return usage.Errorf("--request-timeout: %s is no time to wait", q.timeout)
	}
	return checkOutput(q.output)
}

// ask finds out who the machine is, and compiles what there is for it.
func (q *question) ask(ctx context.Context, stdin io.Reader, args []string) (m machine, view *profile.View, findings []ipxeapi.Finding, err error) {
	if err := q.check(); err != nil {
		return m, nil, nil, err
	}
	from, err := q.reader(stdin)
	if err != nil {
		return m, nil, nil, err
	}
	if m, err = q.subject(ctx, from, args); err != nil {
		return m, nil, nil, err
	}
	view, findings, err = ipxeapi.Snapshot(ctx, from, offlineKey)
	return m, view, findings, err
}

// reader is where objects come from.
func (q *question) reader(stdin io.Reader) (client.Reader, error) {
	if len(q.files) > 0 {
		return readObjects(q.files, q.namespace, stdin)
	}
	config, err := clusterConfig(q.kubeconfig, "")
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w; -f reads manifests instead", err)
	}
	if config.Timeout == 0 {
		config.Timeout = q.timeout
	}
	reader, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Host, err)
	}
	return reader, nil
}

// machine is whom a question is about.
type machine struct {
	subject assignment.Subject
	// configured says which boot configuration comes before any assignment; empty: none.
	configured string
}

// subject is the machine of labels, of a Server, or of both: labels say what a Server does not know.
func (q *question) subject(ctx context.Context, from client.Reader, args []string) (machine, error) {
	values := url.Values{}
	for _, label := range q.labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return machine{}, usage.Errorf("--label %q: want key=value", label)
		}
		values.Add(key, value)
	}
	var m machine
	if len(args) > 0 {
		var server metalv1.Server
		if err := from.Get(ctx, client.ObjectKey{Name: args[0]}, &server); err != nil {
			return machine{}, err // it names kind and object
		}
		m.configured = bootConfigurationOf(&server)
		if err := labelsOfServer(values, &server); err != nil {
			return machine{}, err
		}
	}
	var err error
	if m.subject, err = assignment.NewSubject(values); err != nil {
		return machine{}, usage.Error(err)
	}
	return m, nil
}

func bootConfigurationOf(s *metalv1.Server) string {
	ref := s.Spec.MaintenanceBootConfigurationRef
	if ref == nil {
		ref = s.Spec.BootConfigurationRef
	}
	if ref == nil {
		return ""
	}
	return ref.Namespace + "/" + ref.Name
}

// labelsOfServer are what the server's iPXE would report, as far as its BMC tells. What is given by
// flags counts more.
func labelsOfServer(values url.Values, s *metalv1.Server) error {
	given, err := assignment.NewSubject(values)
	if err != nil {
		return usage.Error(err)
	}
	add := func(key, value string) {
		if given.Get(key) == "" {
			values.Set(key, value)
		}
	}
	add(assignment.KeyUUID, s.Spec.SystemUUID)
	add(assignment.KeySerial, s.Status.SerialNumber)
	add("manufacturer", s.Status.Manufacturer)
	add("product", s.Status.Model)
	if len(s.Status.NetworkInterfaces) > 0 {
		add(assignment.KeyMAC, s.Status.NetworkInterfaces[0].MACAddress)
	}
	return nil
}

// oneServer takes a Server's name, or none where labels say who it is.
func (q *question) oneServer(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usage.Errorf("want one Server at most, got %d", len(args))
	case len(args) == 0 && len(q.labels) == 0:
		return usage.Errorf("want a Server's name, or what the machine reports: --label key=value")
	}
	return nil
}
