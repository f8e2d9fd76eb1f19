package cli

import (
	"fmt"

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

// plainHTTP binds the flag of registries without TLS.
func plainHTTP(cmd *cobra.Command, o *bootimage.Options) {
	cmd.Flags().BoolVar(&o.PlainHTTP, "plain-http", false, "talk to the registry over HTTP without TLS")
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
