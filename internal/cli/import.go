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
	f.StringVarP(&i.Namespace, "namespace", "n", "default", "namespace of the objects")
	f.StringVarP(&i.output, "output", "o", "-", "file for the manifests; -: standard output")
	f.BoolVar(&i.strict, "strict", false, "fail if a file could not be used")
}

// write writes the manifests, and what there is to know about them to another place.
func (i *imports) write(out, errOut io.Writer, r *importer.Result) error {
	nothing := len(r.Profiles)+len(r.Assignments) == 0
	if !nothing {
		if err := i.writeManifests(out, r); err != nil {
			return err
		}
	}
	unused := 0
	for _, note := range r.Notes {
		fmt.Fprintln(errOut, note)
		if note.Kind == importer.Unused {
			unused++
		}
	}
	fmt.Fprintf(errOut, "%d Profiles, %d Assignments; %d not used\n", len(r.Profiles), len(r.Assignments), unused)
	if nothing {
		return errors.New("nothing was imported, and nothing was written")
	}
	if i.strict && unused > 0 {
		return fmt.Errorf("%d could not be used", unused)
	}
	return nil
}

func (i *imports) writeManifests(out io.Writer, r *importer.Result) error {
	text, err := r.YAML()
	if err != nil {
		return err
	}
	if i.output == "-" {
		_, err = out.Write(text)
	} else {
		err = os.WriteFile(i.output, text, 0o600) // configs may hold secrets
	}
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Turn what another network boot service is configured with into Profiles and Assignments",
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
		Short: "Import groups, profiles and templates of a data folder of matchbox",
		Long: `Reads groups, profiles and the ignition, generic and cloud templates of a data folder of matchbox. Manifests go to
standard output or a file; a line for every file that could not be used, and for all that will be different, to standard error.`,
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
	cmd.Flags().StringVar(&i.AssetsURL, "assets-url", "", "where the files are that matchbox serves under /assets")
	return cmd
}

func newImportManifests() *cobra.Command {
	var i imports
	cmd := &cobra.Command{
		Use:   "manifests FILE...",
		Short: "Import Profiles and Assignments in later spellings of their API",
		Long: `Reads Profiles and Assignments of other groups, with fields such as ipxeTemplate, subjectSelectors.uuidList and
isDefault, and writes them as this version of the API has them. - is standard input.`,
		Example: `  kubectl get profiles,assignments -A -o yaml | farrier import manifests - -o imported.yaml`,
		Args:    usage.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			files := make([]importer.File, 0, len(args))
			for _, arg := range args {
				content, err := readFile(arg, cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
				files = append(files, importer.File{Name: filepath.ToSlash(arg), Content: content})
			}
			r, err := importer.Manifests(files, i.Options)
			if err != nil {
				return err
			}
			return i.write(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
		},
	}
	i.bind(cmd.Flags())
	return cmd
}
