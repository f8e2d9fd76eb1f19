package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/image/uki"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// imageInspect are the flags of `farrier image inspect`.
type imageInspect struct {
	bootimage.Options
	architecture, output string
	contents             bool
}

func newImageInspect() *cobra.Command {
	var i imageInspect
	cmd := &cobra.Command{
		Use:   "inspect IMAGE",
		Short: "Explain how a machine would boot an image",
		Long: `Prints the layers of an image that a machine boots from, and by which boot methods it can boot. Fails if it can boot by none. Of an index
it prints that for each architecture.

` + imageArgument,
		Example: `  farrier image inspect registry.example/os/flatcar:stable
  farrier image inspect oci:probe --contents`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(i.output); err != nil {
				return err
			}
			return i.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&i.architecture, "architecture", "", "architecture of the machine, which chooses from an index (default: all that are there)")
	f.BoolVar(&i.contents, "contents", false, "read kernel and UKI as well and say what is in them")
	f.StringVarP(&i.output, "output", "o", "table", "table or json")
	plainHTTP(cmd, &i.Options)
	return cmd
}

// inspected is what `farrier image inspect -o json` prints.
type inspected struct {
	Image  string `json:"image"`
	Digest string `json:"digest"`
	// Architecture is that of an image of an index.
	Architecture string `json:"architecture,omitempty"`

	Layers  []inspectedLayer `json:"layers"`
	Methods []bootableBy     `json:"bootMethods"`
	Kernel  string           `json:"kernelArchitecture,omitempty"`
	UKI     *inspectedUKI    `json:"uki,omitempty"`
}

type inspectedLayer struct {
	Part      string `json:"part,omitempty"`
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

type bootableBy struct {
	Method string `json:"method"`
	Works  bool   `json:"works"`
	Reason string `json:"reason"`
}

type inspectedUKI struct {
	Architecture string `json:"architecture"`
	CommandLine  string `json:"commandLine"`
	Stub         string `json:"stub,omitempty"`
	Signatures   int    `json:"signatures"`
	PCR11        string `json:"pcr11"`
}

func (i *imageInspect) run(ctx context.Context, out io.Writer, name string) error {
	place, err := bootimage.Open(ctx, name, i.Options, false)
	if err != nil {
		return err
	}
	index, architectures, err := place.Architectures(ctx)
	if err != nil {
		return err
	}
	if i.architecture != "" || architectures == nil {
		result, unbootable, err := i.look(ctx, place, i.architecture)
		if err == nil {
			err = result.print(out, i.output)
		}
		return errors.Join(err, unbootable)
	}
	all := inspectedIndex{Image: name, Digest: index, Architectures: []inspected{}}
	var unbootable []error
	for _, architecture := range architectures {
		result, problem, err := i.look(ctx, place, architecture)
		if err != nil {
			return fmt.Errorf("for %s: %w", architecture, err)
		}
		result.Architecture = architecture
		all.Architectures = append(all.Architectures, result)
		if problem != nil {
			unbootable = append(unbootable, fmt.Errorf("for %s: %w", architecture, problem))
		}
	}
	if len(architectures) == 0 {
		unbootable = append(unbootable, errors.New("the index has no image for any architecture"))
	}
	return errors.Join(append([]error{all.print(out, i.output)}, unbootable...)...)
}

// inspectedIndex is what is printed of an index.
type inspectedIndex struct {
	Image         string      `json:"image"`
	Digest        string      `json:"digest"`
	Architectures []inspected `json:"architectures"`
}

func (x *inspectedIndex) print(out io.Writer, format string) error {
	if format == "json" {
		return printJSON(out, x)
	}
	fmt.Fprintf(out, "image   %s\nindex   %s\n", x.Image, x.Digest)
	for _, image := range x.Architectures {
		fmt.Fprintf(out, "\nfor %s\ndigest  %s\n\n", image.Architecture, image.Digest)
		if err := image.printLayers(out); err != nil {
			return err
		}
	}
	return nil
}

// look finds the image for an architecture and describes it. unbootable says why no machine can boot it.
func (i *imageInspect) look(ctx context.Context, place bootimage.Place, architecture string) (result inspected, unbootable, err error) {
	image, err := place.Find(ctx, architecture)
	if err != nil {
		return inspected{}, nil, err
	}
	plan := image.Offer()
	result = describeImage(place.Name, image, plan)
	if i.contents {
		err = result.read(ctx, place, plan)
	}
	if _, problem := image.Plan(); problem != nil {
		unbootable = fmt.Errorf("no machine can boot this image: %w", problem)
	}
	return result, unbootable, err
}

// describeImage says which layer is for what, and how a machine can boot.
func describeImage(name string, image registry.Image, plan registry.Plan) inspected {
	result := inspected{Image: name, Digest: image.Digest, Layers: []inspectedLayer{}}
	parts := []struct {
		name  string
		layer *registry.Layer
	}{{"kernel", plan.Kernel}, {"initramfs", plan.Initramfs}, {"squashfs", plan.Squashfs}, {"UKI", plan.UKI}}
	for _, layer := range image.Layers {
		shown := inspectedLayer{MediaType: layer.MediaType, Digest: layer.Digest, Size: layer.Size}
		for _, part := range parts {
			if part.layer != nil && *part.layer == layer {
				shown.Part = part.name
			}
		}
		result.Layers = append(result.Layers, shown)
	}
	for _, method := range []struct {
		name  string
		needs registry.Set
	}{{"iPXE", registry.KernelSet}, {"UEFI HTTP", registry.UKISet}} {
		by := bootableBy{Method: method.name, Works: plan.Has(method.needs)}
		for _, part := range parts {
			if slices.Contains(method.needs, part.name) {
				by.Reason = joined(by.Reason, has(part.name, part.layer != nil))
			}
		}
		result.Methods = append(result.Methods, by)
	}
	return result
}

func has(part string, there bool) string {
	if there {
		return "has " + part
	}
	return "has no " + part
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// read looks into kernel and UKI.
func (r *inspected) read(ctx context.Context, place bootimage.Place, plan registry.Plan) error {
	if plan.Kernel != nil {
		kernel, err := place.Read(ctx, *plan.Kernel)
		if err != nil {
			return err
		}
		if r.Kernel = uki.KernelArchitecture(kernel); r.Kernel == "" {
			r.Kernel = "unknown"
		}
	}
	if plan.UKI == nil {
		return nil
	}
	content, err := place.Read(ctx, *plan.UKI)
	if err != nil {
		return err
	}
	image, err := uki.Read(content)
	if err != nil {
		return err
	}
	line := strings.TrimRight(string(image.Section(uki.SectionCommandLine)), "\x00\n")
	r.UKI = &inspectedUKI{image.Architecture, line, image.StubVersion, image.Signatures, "sha256:" + uki.PCR11(image)}
	return nil
}

func (r *inspected) print(out io.Writer, format string) error {
	if format == "json" {
		return printJSON(out, r)
	}
	fmt.Fprintf(out, "image   %s\ndigest  %s\n\n", r.Image, r.Digest)
	return r.printLayers(out)
}

func (r *inspected) printLayers(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LAYER\tSIZE\tDIGEST\tMEDIA TYPE")
	for _, layer := range r.Layers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(layer.Part, "not booted"), megabytes(layer.Size), layer.Digest, layer.MediaType)
	}
	fmt.Fprintln(w, "\nBOOT METHOD\tWORKS\tBECAUSE IT")
	for _, by := range r.Methods {
		fmt.Fprintf(w, "%s\t%s\t%s\n", by.Method, map[bool]string{true: "yes", false: "no"}[by.Works], by.Reason)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Kernel != "" {
		fmt.Fprintf(out, "\nkernel for %s\n", r.Kernel)
	}
	if r.UKI != nil {
		// A command line is somebody else's text.
		fmt.Fprintf(out, "\nUKI for %s, systemd-stub %s, %d signatures\n  command line  %q\n  PCR 11        %s\n",
			r.UKI.Architecture, cmp.Or(r.UKI.Stub, "unknown"), r.UKI.Signatures, r.UKI.CommandLine, r.UKI.PCR11)
	}
	return nil
}
