package cli

import (
	"fmt"
	"os"
	"path/filepath"

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

// firstFile returns the first of these files that is there; empty: none is.
func firstFile(files ...string) string {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// besideThisProgram is where the other programs of Farrier are installed, too.
func besideThisProgram(name string) string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	return firstFile(filepath.Join(filepath.Dir(own), name))
}
