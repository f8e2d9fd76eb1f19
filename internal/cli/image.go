package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

func newImage() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Make and explain images that machines boot",
		Args:  usage.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImageBuild(), newImagePack(), newImageInspect())
	return cmd
}

// imageArgument is what the help of all subcommands says of their argument.
const imageArgument = `IMAGE is a reference such as registry.example/farrier/probe:1, or oci:DIR[:TAG] for an OCI image layout in a folder.
Credentials are those that docker login or podman login stored.`

// pushOptions are the flags of the subcommands that push.
type pushOptions struct {
	bootimage.Options
	replace bool
}

func (o *pushOptions) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.replace, "replace", false, "drop the images for other architectures that IMAGE names (default: they are kept, in an index)")
	plainHTTP(cmd, &o.Options)
}

// push puts an image where a reference names it.
func (o *pushOptions) push(ctx context.Context, destination string, image bootimage.Image) (bootimage.Added, error) {
	place, err := bootimage.Open(ctx, destination, o.Options, true)
	if err != nil {
		return bootimage.Added{}, err
	}
	if !o.replace {
		return place.Add(ctx, image)
	}
	digest, err := place.Push(ctx, image)
	return bootimage.Added{Digest: digest}, err
}

// printAdded says what was pushed; the names of the lines are as wide as the caller's.
func printAdded(out io.Writer, width int, destination string, added bootimage.Added) {
	fmt.Fprintf(out, "%-*s%s\n%-*s%s\n", width, "image", destination, width, "digest", added.Digest)
	if added.Index != "" {
		fmt.Fprintf(out, "%-*s%s  for %s\n", width, "index", added.Index, strings.Join(added.Architectures, ", "))
	}
}

// plainHTTP binds the flag of registries without TLS.
func plainHTTP(cmd *cobra.Command, o *bootimage.Options) {
	cmd.Flags().BoolVar(&o.PlainHTTP, "plain-http", false, "talk to the registry over HTTP without TLS")
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
