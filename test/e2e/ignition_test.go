package e2e

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/u-root/u-root/pkg/cpio"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// realIgnition is Debian's Ignition and what it needs to run, as files of an initramfs.
func realIgnition(t *testing.T) []cpio.Record {
	t.Helper()
	program := unpackedFile(t, "ignition", "usr/lib/dracut/modules.d/30ignition/ignition")
	files := map[string]string{"usr/bin/ignition": program}
	listed, err := exec.CommandContext(t.Context(), "ldd", program).Output()
	if err != nil {
		t.Fatalf("ldd %s: %v (Debian package libc-bin)", program, err)
	}
	for field := range strings.FieldsSeq(string(listed)) {
		if strings.HasPrefix(field, "/") {
			files[strings.TrimPrefix(field, "/")] = field
		}
	}
	records := []cpio.Record{cpio.Symlink("usr/bin/setfiles", "/init")} // see guest
	made := map[string]bool{}
	for at, from := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		for i := range at {
			if folder := at[:i]; at[i] == '/' && !made[folder] {
				made[folder] = true
				records = append(records, cpio.Directory(folder, 0o755))
			}
		}
		records = append(records, cpio.StaticFile(path.Clean(at), string(content), 0o755))
	}
	slices.SortFunc(records, func(a, b cpio.Record) int { return strings.Compare(a.Name, b.Name) }) // folders come before what is in them
	return records
}

// TestIgnition boots a system that applies its ignition with Debian's Ignition, which finds it by the kernel's command line of the product's script.
func TestIgnition(t *testing.T) {
	l := newLab(t)
	const name, uuid = "ignited", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0031"
	l.ignitionOf(name, `{"ignition":{"version":"3.3.0"},"storage":{"files":[
		{"path":"/etc/farrier/claim","mode":416,"contents":{"source":"data:,claimed%20by%20a%20test"}}]}}`)
	plan := l.push(name, localregistry.Image{Kernel: kernelImage(t), Initramfs: trustingInitramfs(t, name, nil, realIgnition(t)...)})
	config := l.overIPXE(name, uuid, plan)
	machine := power(t, biosIPXE, identity{uuid, name}, l.url+"/ipxe/")
	if got, want := machine.says("file /etc/farrier/claim"), `-rw-r----- "claimed by a test"`; got != want {
		t.Errorf("Ignition wrote %s, want %s", got, want)
	}
	machine.goesOff()
	l.condition(config, func() []metav1.Condition { return config.Status.Conditions }, "IgnitionDataFetched")
}
