package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blocks makes a tree as below /sys/block.
func blocks(t *testing.T, files map[string]string) releaser {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return releaser{blocks: dir, mapper: filepath.Join(dir, "no-control")}
}

func TestReleaseStopsArrays(t *testing.T) {
	r := blocks(t, map[string]string{
		"sda/holders/md0": "", "sda/sda1/holders/md1": "", "sda/sda2/holders/md9": "", // md9 is gone
		"md0/md/array_state": "active\n", "md1/md/array_state": "clean\n", "md0/holders/md2": "", "md2/md/array_state": "clean\n",
		"sdb/holders/md3": "", "md3/md/array_state": "active\n",
	})
	if err := r.release("sda", maxLayers); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"md0": "clear", "md1": "clear", "md2": "clear", "md3": "active\n"} {
		got, err := os.ReadFile(filepath.Join(r.blocks, name, "md/array_state"))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestReleaseSaysWhatHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no device mapper": {map[string]string{"sda/holders/dm-0": "", "dm-0/dm/name": "vg-data\n"}, "dm-0: open "},
		"long name":        {map[string]string{"sda/holders/dm-0": "", "dm-0/dm/name": strings.Repeat("x", 200)}, "too long"},
		"something else":   {map[string]string{"sda/holders/zd0": "", "zd0/x": ""}, "zd0: do not know how to stop it"},
		"circle":           {map[string]string{"sda/holders/md0": "", "md0/holders/md0": "", "md0/md/array_state": ""}, "too many layers"},
	} {
		if err := blocks(t, tc.files).release("sda", maxLayers); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}
