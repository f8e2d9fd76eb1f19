package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestFilesAreAsPublished compares every file with the sum that is on record for its version.
func TestFilesAreAsPublished(t *testing.T) {
	sums, err := tree.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: %q", line)
		}
		known[name] = sum
	}
	files, err := fs.ReadDir(Files(), ".")
	if err != nil || len(files) == 0 || len(files) != len(known) {
		t.Fatalf("%d files, %d sums: %v", len(files), len(known), err)
	}
	for _, f := range files {
		content, err := fs.ReadFile(Files(), f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if known[f.Name()] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s differs from what its authors published", f.Name())
		}
	}
}

// TestEveryPackageHasItsLicence: each row of the table in doc.go has its licence in the tree, which is what the licences ask for.
func TestEveryPackageHasItsLicence(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, licence := range map[string]string{"xterm": "Permission is hereby granted", "xterm-fit": "Permission is hereby granted", "uplot": "Permission is hereby granted"} {
		text, err := tree.ReadFile("licenses/" + name + ".txt")
		if err != nil || !bytes.Contains(text, []byte(licence)) {
			t.Errorf("licence of %s: %v", name, err)
		}
		if !bytes.Contains(doc, []byte(name+".js")) {
			t.Errorf("doc.go does not name %s.js and its version", name)
		}
	}
}
