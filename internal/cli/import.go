package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/ipxeapi/importer"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// imports are the flags of all imports.
type imports struct {
	importer.Options
	output string
	strict bool
}

func (i *imports) bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVarP(&i.Namespace, "namespace", "n", "default", "namespace of the Profiles and Assignments")
	f.StringVarP(&i.output, "output", "o", "-", "file to write the manifests to; -: standard output")
	f.BoolVar(&i.strict, "strict", false, "fail if a file or an object is left out")
}

// write writes the manifests to out, and the notes about them to errOut.
func (i *imports) write(out, errOut io.Writer, r *importer.Result) error {
	if !r.Empty() {
		if err := i.writeManifests(out, r); err != nil {
			return err
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintln(errOut, note)
	}
	refused, foreign, unused := r.Count(importer.Refused), r.Count(importer.Foreign), r.Count(importer.Unused)
	fmt.Fprintf(errOut, "%d Profiles, %d Assignments, %d other objects; left out: %d refused, %d foreign, %d unused\n",
		len(r.Profiles), len(r.Assignments), len(r.Objects), refused, foreign, unused)
	switch left := refused + foreign + unused; {
	case r.Empty():
		return errors.New("found nothing to import, wrote nothing")
	case i.strict && left > 0:
		return fmt.Errorf("--strict: files or objects left out: %d", left)
	}
	return nil
}

func (i *imports) writeManifests(out io.Writer, r *importer.Result) error {
	text, err := r.YAML()
	if err != nil {
		return err
	}
	switch info, statErr := os.Stat(i.output); {
	case i.output == "-":
		_, err = out.Write(text)
	case statErr == nil && !info.Mode().IsRegular(): // such as a pipe
		err = os.WriteFile(i.output, text, 0o600)
	default: // whole or not at all; configs may hold secrets
		err = atomicfile.Write(i.output, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Convert the configuration of another network boot service to Profiles and Assignments",
		Args:  usage.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImportMatchbox(), newImportManifests())
	return cmd
}

func newImportMatchbox() *cobra.Command {
	var i imports
	cmd := &cobra.Command{
		Use:   "matchbox DIR",
		Short: "Convert a data directory of matchbox",
		Long: `Converts the groups, the profiles and the ignition, generic and cloud templates of a data directory of matchbox. Writes the
manifests to standard output or a file, and one line to standard error for every file that cannot be converted and for every difference.`,
		Example: `  farrier import matchbox /var/lib/matchbox --assets-url http://files.example/assets -o matchbox.yaml`,
		Args:    usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if u, err := url.Parse(i.AssetsURL); i.AssetsURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
				return usage.Errorf("--assets-url %q: want http:// or https://", i.AssetsURL)
			}
			root, err := os.OpenRoot(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = root.Close() }()
			r, err := importer.Matchbox(root.FS(), i.Options)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return i.write(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
		},
	}
	i.bind(cmd.Flags())
	cmd.Flags().StringVar(&i.AssetsURL, "assets-url", "", "base URL of the files that matchbox serves under /assets (default: none)")
	return cmd
}

func newImportManifests() *cobra.Command {
	var i imports
	cmd := &cobra.Command{
		Use:   "manifests FILE|DIR...",
		Short: "Convert Profiles and Assignments of other versions of their API, and take objects of metal-operator and boot-operator",
		Long: `Converts Profiles and Assignments of other API groups, with fields such as ipxeTemplate, subjectSelectors.uuidList and
isDefault, to this version of the API. Takes objects of the groups metal.ironcore.dev and boot.ironcore.dev as they are.
Writes one line to standard error for every object: what became of it, or why it is left out. A folder is read with those
below it: .yaml, .yml and .json. The file - is standard input.`,
		Example: `  kubectl get profiles,assignments -A -o yaml | farrier import manifests - -o imported.yaml`,
		Args:    usage.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := manifestFiles(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return i.write(cmd.OutOrStdout(), cmd.ErrOrStderr(), importer.Manifests(files, i.Options))
		},
	}
	i.bind(cmd.Flags())
	return cmd
}

// manifestFiles reads files, folders and, as "-", standard input.
func manifestFiles(args []string, stdin io.Reader) ([]importer.File, error) {
	var files []importer.File
	for _, arg := range args {
		paths, err := manifestPaths(arg)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("%s: no .yaml, .yml or .json file in it", arg)
		}
		for _, path := range paths {
			content, err := readFile(path, stdin)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			files = append(files, importer.File{Name: filepath.ToSlash(path), Content: content})
		}
	}
	return files, nil
}
