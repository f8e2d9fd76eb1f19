package testapi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controlplane/crds"
)

// TestPreparedDefinitions checks what Start promises, and that installing our definitions again does not write: farrier does on every start.
func TestPreparedDefinitions(t *testing.T) {
	cfg := Start(t)
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, crdPattern))
	if err != nil {
		t.Fatal(err)
	}
	want, err := loadCRDs(files)
	if err != nil {
		t.Fatal(err)
	}
	list := func() map[string]string {
		t.Helper()
		found, err := client.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions := make(map[string]string, len(found.Items))
		for i := range found.Items {
			versions[found.Items[i].Name] = found.Items[i].ResourceVersion
			if !established(&found.Items[i]) {
				t.Errorf("%s is not established", found.Items[i].Name)
			}
		}
		return versions
	}
	before := list()
	if len(before) != len(want) {
		t.Errorf("%d definitions, want %d", len(before), len(want))
	}
	if err := crds.Install(t.Context(), cfg, want, crds.Options{SingleServer: true}); err != nil {
		t.Fatal(err)
	}
	after := list()
	for _, definition := range want {
		if before[definition.Name] == "" {
			t.Errorf("%s is not installed", definition.Name)
		}
		if before[definition.Name] != after[definition.Name] {
			t.Errorf("%s was written although it had not changed", definition.Name)
		}
	}
}

// TestNothingIsLeft of a server of a test's own, which is all that keeps a run of all tests from filling a disk.
func TestNothingIsLeft(t *testing.T) {
	var folder string
	t.Run("", func(t *testing.T) {
		folder = StartWith(t).folder
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s after the test: %v", folder, err)
	}
}

// judged counts what it is told.
type judged struct {
	testing.TB
	errors int
}

func (j *judged) Helper()               {}
func (j *judged) Errorf(string, ...any) { j.errors++ }

// TestAServerThatEndsByItselfFailsItsTest, once, and one that was told to end does not.
func TestAServerThatEndsByItselfFailsItsTest(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*Process) error
		want int
	}{
		{"killed by the test", func(p *Process) error { p.Kill(); return nil }, 0},
		{"stopped by the test", (*Process).Stop, 0},
		{"by itself", func(p *Process) error { return p.command.Process.Kill() }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := StartWith(t)
			if err := tc.end(p); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			j := &judged{TB: t}
			p.runs(j)
			p.runs(j)
			if j.errors != tc.want {
				t.Errorf("failed %d times, want %d", j.errors, tc.want)
			}
		})
	}
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func TestCopyTreeKeepsContent(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	content := make([]byte, 200<<10) // three blocks and a bit, of which the second is a hole
	content[0], content[150<<10], content[len(content)-1] = 1, 2, 3
	for name, content := range map[string][]byte{"sub/holes": content, "empty": nil, "zeros": make([]byte, 100<<10), "reserve.tmp": {1}} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyTree(to, from); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/holes", "empty", "zeros"} {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes (%v), want the %d of the original", name, len(got), err, len(want))
		}
	}
	if _, err := os.Stat(filepath.Join(to, "reserve.tmp")); err == nil {
		t.Error("a file kept in reserve was copied")
	}
}
