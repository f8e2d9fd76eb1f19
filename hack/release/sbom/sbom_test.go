package sbom

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/farrier-dev/farrier/hack/release/programtest"
)

// TestOf reads the bill of a program: modules, Go, and what depends on what; twice the same.
func TestOf(t *testing.T) {
	built := programtest.Build(t)
	subject := Subject{Name: "farrier", Version: "v0.1.0", Time: time.Unix(0, 0), Image: true, Files: map[string]string{"certificates": "v1"}}
	text, err := Of(subject, built)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Of(subject, built)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("the second bill differs, %v", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if at := bom.Metadata; at.Timestamp != "1970-01-01T00:00:00Z" || at.Component.Type != cdx.ComponentTypeContainer || at.Component.Version != "v0.1.0" {
		t.Errorf("the bill is of %+v at %s", at.Component, at.Timestamp)
	}
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		found[c.Name] = c
	}
	if v := found["stdlib"].Version; "go"+v != runtime.Version() {
		t.Errorf("the bill has Go %s, and this is %s", v, runtime.Version())
	}
	library := found["github.com/CycloneDX/cyclonedx-go"]
	if library.Version == "" || library.PackageURL != "pkg:golang/github.com/CycloneDX/cyclonedx-go@"+library.Version {
		t.Errorf("a library is %+v", library)
	}
	if found["certificates"].Version != "v1" {
		t.Errorf("no certificates in %s", text)
	}
	refs := map[string]bool{"subject": true}
	for _, c := range *bom.Components {
		refs[c.BOMRef] = true
	}
	for _, d := range *bom.Dependencies {
		for _, ref := range append(*d.Dependencies, d.Ref) {
			if !refs[ref] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, ref)
			}
		}
	}
}

func TestInUse(t *testing.T) {
	for _, c := range []struct{ module, want *debug.Module }{
		{&debug.Module{Path: "a", Version: "v1"}, &debug.Module{Path: "a", Version: "v1"}},
		{&debug.Module{Path: "a", Version: "v0.0.0", Replace: &debug.Module{Path: "./a"}}, &debug.Module{Path: "a", Version: "v9"}},
		{&debug.Module{Path: "a", Version: "v1", Replace: &debug.Module{Path: "b", Version: "v2"}}, &debug.Module{Path: "b", Version: "v2"}},
	} {
		if got := inUse(c.module, "v9"); *got != *c.want {
			t.Errorf("%+v: %+v, want %+v", c.module, got, c.want)
		}
	}
}

func TestOfWhatIsNoProgram(t *testing.T) {
	if _, err := Of(Subject{}, "sbom.go"); err == nil || !strings.HasPrefix(err.Error(), "sbom.go: ") {
		t.Errorf("a text: %v", err)
	}
}
