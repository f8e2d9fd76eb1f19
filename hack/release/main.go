package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/hack/release/chart"
	"github.com/farrier-dev/farrier/hack/release/image"
	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, dist, version, platforms string
	unreleased                     bool
}

func command() *cobra.Command {
	var o options
	root := &cobra.Command{Use: "release", Short: "Make archives, images and packages of a version", SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs}
	f := root.PersistentFlags()
	f.StringVar(&o.root, "root", "../..", "folder of the repository")
	f.StringVar(&o.dist, "dist", "", "folder to write to (default: dist in the repository)")
	f.StringVar(&o.version, "version", "", "version, such as v0.1.0 (default: what git describes)")
	f.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64,darwin/arm64", "platforms to build for, separated by commas")
	all := &cobra.Command{
		Use: "all", Short: "Everything, with checksums", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.work(cmd.Context(), (*work).everything) },
	}
	all.Flags().BoolVar(&o.unreleased, "unreleased", false, "also of a tree that may not be released, to try it")
	root.AddCommand(all,
		&cobra.Command{
			Use: "images", Short: "Container images, as OCI layouts in images/", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				o.unreleased = true
				return o.work(cmd.Context(), (*work).images)
			},
		},
		&cobra.Command{
			Use: "deb", Short: "Debian packages", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				o.unreleased = true
				return o.work(cmd.Context(), (*work).packages)
			},
		},
		&cobra.Command{
			Use: "push REGISTRY", Short: "Push the layouts in images/, and the charts, to repositories of a registry, such as registry.example.org/farrier", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return o.push(cmd, args[0]) },
		})
	return root
}

// work reads what is to be released, builds it, and does what a command is for.
func (o options) work(ctx context.Context, do func(*work, context.Context) error) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	s, err := source.Read(ctx, root, o.version)
	if err != nil {
		return err
	}
	platforms, err := program.ParsePlatforms(o.platforms)
	if err != nil {
		return fmt.Errorf("--platforms: %w", err)
	}
	w := &work{Source: s, dist: o.dist, platforms: platforms, unreleased: o.unreleased}
	if w.dist == "" {
		w.dist = filepath.Join(root, "dist")
	}
	if w.dist, err = filepath.Abs(w.dist); err != nil {
		return err
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	if err := w.build(ctx); err != nil {
		return err
	}
	return do(w, ctx)
}

// push pushes every layout to a repository of its name, and the package of the chart, where there is one, to one below charts/.
func (o options) push(cmd *cobra.Command, registry string) error {
	dist := o.dist
	if dist == "" {
		dist = filepath.Join(o.root, "dist")
	}
	for _, i := range image.Images {
		pushed, err := image.Push(cmd.Context(), filepath.Join(dist, imagesFolder, i.Name), registry+"/"+i.Name)
		if err != nil {
			return err
		}
		for _, name := range pushed {
			fmt.Fprintln(cmd.OutOrStdout(), name)
		}
	}
	charts, err := filepath.Glob(filepath.Join(dist, chart.File("*")))
	for _, file := range charts {
		pushed, err := chart.Push(cmd.Context(), file, registry+"/charts")
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), pushed)
	}
	return err
}
