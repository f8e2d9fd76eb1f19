package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/system"
)

// question names a machine and the source of the objects.
type question struct {
	labels     []string
	files      []string
	namespace  string
	kubeconfig string
	output     string
	timeout    time.Duration
}

func (q *question) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&q.labels, "label", "l", nil, "label of the machine, key=value, as its iPXE would report it; repeat the flag for more")
	f.StringArrayVarP(&q.files, "filename", "f", nil, "manifests to read in place of a cluster: a file, a directory, or - for standard input; repeat the flag for more")
	f.StringVarP(&q.namespace, "namespace", "n", "default", "namespace of manifests without one")
	f.StringVar(&q.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster "+whereKubeconfigs)
	f.DurationVar(&q.timeout, "request-timeout", 30*time.Second, "how long one request to the cluster may take")
	f.StringVarP(&q.output, "output", "o", "table", "output format: table or json")
	completeValues(cmd, "output", outputs...)
	completeNames(cmd, func() *cluster { return &cluster{kubeconfig: q.kubeconfig} }, "Server")
}

func (q *question) check() error {
	if q.timeout <= 0 {
		return usage.Errorf("--request-timeout: %s is not greater than zero", q.timeout)
	}
	return checkOutput(q.output)
}

// ask identifies the machine and compiles the Profiles and Assignments.
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

// reader returns the source of the objects: manifests or a cluster.
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

// machine is the subject of a question.
type machine struct {
	subject assignment.Subject
	// configured is the boot configuration that overrides every assignment; empty: none.
	configured string
}

// subject returns the machine that labels, a Server, or both describe: labels add what a Server does not hold.
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

// labelsOfServer adds the labels that the server's iPXE would report, as far as its BMC reports them. Flags take
// precedence.
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

// oneServer accepts the name of one Server, or no argument if labels describe the machine.
func (q *question) oneServer(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usage.Errorf("give one Server at most, not %d", len(args))
	case len(args) == 0 && len(q.labels) == 0:
		return usage.Errorf("give the name of a Server, or the labels of a machine: --label key=value")
	}
	return nil
}
