package machinerecord

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestReadCleanup(t *testing.T) {
	want := Cleanup{
		Server: "s", Claim: "uid", Attempt: "a", Mode: inspection.CleanFull, Outcome: Clean, Summary: "1 disk wiped",
		Disks: []inspection.DiskCleanup{{Path: "/dev/sda", Serial: "X1", Method: "overwrite", Seconds: 1.5, Result: inspection.CleanedOK}},
	}
	obj, err := want.Object("farrier-system")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCleanup(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for name, content := range map[string][]byte{"nothing": nil, "no gzip": []byte("{}"), "cut short": obj.BinaryData[Key][:12]} {
		if _, err := ReadCleanup(&corev1.ConfigMap{BinaryData: map[string][]byte{Key: content}}); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
