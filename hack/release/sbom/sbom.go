package sbom

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// MediaType is that of a bill of materials as JSON.
const MediaType = "application/vnd.cyclonedx+json"

// Subject is what the bill is of.
type Subject struct {
	Name, Version string
	Time          time.Time
	// Image reports whether it is a container image; otherwise it is an archive of programs.
	Image bool
	// Files are other things in it than programs, by name and version.
	Files map[string]string
}

// Of returns the bill of programs at these paths.
func Of(subject Subject, programs ...string) ([]byte, error) {
	kind := cdx.ComponentTypeApplication
	if subject.Image {
		kind = cdx.ComponentTypeContainer
	}
	whole := cdx.Component{BOMRef: "subject", Type: kind, Name: subject.Name, Version: subject.Version, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}}
	parts := bill{components: map[string]cdx.Component{}, uses: map[string][]string{}}
	for _, file := range programs {
		if err := parts.add(file, subject.Version); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	for name, version := range subject.Files {
		ref := "file:" + name
		parts.components[ref] = cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeData, Name: name, Version: version}
		parts.uses["subject"] = append(parts.uses["subject"], ref)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: subject.Time.UTC().Format(time.RFC3339), Component: &whole}
	components := slices.SortedFunc(maps.Values(parts.components), func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom.Components, bom.Dependencies = &components, parts.dependencies()
	var out bytes.Buffer
	// Fewer tools read later versions.
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// bill is what programs are made of, by reference.
type bill struct {
	components map[string]cdx.Component
	uses       map[string][]string
}

// add adds a program and what is linked into it.
func (b bill) add(file, version string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	sum, err := digest(file)
	if err != nil {
		return err
	}
	program := "program:" + filepath.Base(file)
	b.components[program] = cdx.Component{
		BOMRef: program, Type: cdx.ComponentTypeApplication, Name: filepath.Base(file), Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
	}
	b.uses["subject"] = append(b.uses["subject"], program)
	linked := []*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		linked = append(linked, inUse(m, version))
	}
	for _, m := range linked {
		ref := "pkg:golang/" + m.Path + "@" + m.Version
		b.components[ref] = cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: ref}
		b.uses[program] = append(b.uses[program], ref)
	}
	return nil
}

// inUse is the module that is linked, which may stand in for another. A folder of this repository is of its version.
func inUse(m *debug.Module, version string) *debug.Module {
	if m.Replace == nil {
		return m
	}
	if strings.HasPrefix(m.Replace.Path, ".") {
		return &debug.Module{Path: m.Path, Version: version}
	}
	return &debug.Module{Path: m.Replace.Path, Version: cmp.Or(m.Replace.Version, m.Version)}
}

func (b bill) dependencies() *[]cdx.Dependency {
	var all []cdx.Dependency
	for _, ref := range slices.Sorted(maps.Keys(b.uses)) {
		used := slices.Compact(slices.Sorted(slices.Values(b.uses[ref])))
		all = append(all, cdx.Dependency{Ref: ref, Dependencies: &used})
	}
	return &all
}

func digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
