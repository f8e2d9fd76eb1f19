// Command apiserver is a control plane of its own process, for tests.
//
// It prints one line, "ready <url> <kubeconfig>", once /readyz answers, and ends in an orderly way on SIGTERM. When its standard input ends it
// ends at once: the test that started it is gone, however it went, and a pipe tells so on every system.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr/funcr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/admission/plugin"
	"github.com/farrier-dev/farrier/internal/controlplane"
)

func main() {
	opts := controlplane.Options{UntrackedManagers: []string{metalv1.FieldManager}} // as in farrier up
	// A set of our own: packages that are linked in have flags, too.
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flags.StringVar(&opts.DataDir, "data-dir", "", "data directory")
	flags.StringVar(&opts.KubeconfigPath, "kubeconfig", "", "where to write the kubeconfig")
	flags.StringVar(&opts.Address, "api-address", "127.0.0.1:0", "address of the API")
	flags.Int64Var(&opts.StoreQuota, "store-quota", 0, "bound of the store's database, in bytes; 0: that of farrier up")
	remove := flags.String("remove", "", "directory to remove when standard input ends")
	labelRules := flags.Bool("label-rules", false, "run the admission plugin of plugin.go")
	ruled := flags.Bool("rules", false, "run the admission rules of Farrier")
	profiles := flags.String("pprof-address", "", "where to serve profiles of this process; empty: nowhere")
	verbosity := flags.Int("v", 0, "verbosity of the log on standard error")
	_ = flags.Parse(os.Args[1:]) // ends the process when it fails
	opts.Logger = funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{Verbosity: *verbosity})

	if *labelRules {
		opts.AdmissionPlugins = []controlplane.AdmissionPlugin{labelPlugin}
	}
	var rules *plugin.Plugin
	if *ruled {
		rules = plugin.New()
		opts.AdmissionPlugins = append(opts.AdmissionPlugins, rulesPlugin(rules))
	}

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if *remove != "" {
			_ = os.RemoveAll(*remove)
		}
		os.Exit(1)
	}()
	if err := errors.Join(controlplane.TuneCollector(), serveProfiles(*profiles)); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	if err := run(opts, rules); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(opts controlplane.Options, rules *plugin.Plugin) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server, err := controlplane.Start(ctx, opts)
	if err != nil {
		return err
	}
	if rules != nil {
		if err := serveRules(ctx, server, rules); err != nil {
			return errors.Join(err, server.Stop())
		}
	}
	fmt.Println("ready", server.URL(), server.Kubeconfig())
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	return server.Stop()
}
