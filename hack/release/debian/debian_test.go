package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/source"
)

var amd64 = program.Platform{OS: "linux", Arch: "amd64"}

// parts are a program, a page and completions that say their names.
func parts(t *testing.T) Parts {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"bin/farrier", "manual/man/farrier.1", "manual/man/farrier-up.1", "manual/bash/farrier", "manual/zsh/_farrier", "manual/fish/farrier.fish", "LICENSES.txt"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("this is "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Parts{Programs: map[string]string{"farrier": filepath.Join(dir, "bin/farrier")}, Manual: filepath.Join(dir, "manual"), Licenses: filepath.Join(dir, "LICENSES.txt")}
}

// TestWrite makes the package twice: the bytes are the same, and it has the files where Debian has them.
func TestWrite(t *testing.T) {
	s := source.Source{Root: "../../..", Version: "v0.1.0-rc.1", Time: time.Unix(1_770_000_000, 0).UTC()}
	var one, two bytes.Buffer
	made := parts(t)
	for _, w := range []io.Writer{&one, &two} {
		if err := Write(w, s, amd64, made); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the second package differs")
	}
	if name := File(s, amd64); name != "farrier_0.1.0~rc.1_amd64.deb" {
		t.Errorf("the file is called %s", name)
	}
	type row struct {
		Mode  int64
		Owner string
	}
	want := map[string]row{}
	for name, mode := range map[string]int64{
		"./usr/bin/farrier": 0o755, "./lib/systemd/system/farrier.service": 0o644, "./etc/farrier/": 0o750, "./etc/farrier/farrier.yaml": 0o640,
		"./usr/share/man/man1/farrier.1.gz": 0o644, "./usr/share/man/man1/farrier-up.1.gz": 0o644, "./usr/share/bash-completion/completions/farrier": 0o644,
		"./usr/share/zsh/vendor-completions/_farrier": 0o644, "./usr/share/fish/vendor_completions.d/farrier.fish": 0o644,
		"./usr/share/doc/farrier/copyright": 0o644, "./usr/share/doc/farrier/changelog.gz": 0o644,
	} {
		want[name] = row{mode, "root:root"}
	}
	got := map[string]row{}
	data := headers(t, member(t, one.Bytes(), "data.tar.gz"))
	for _, name := range []string{"./usr/bin/kubectl-farrier", "./usr/bin/kubectl_complete-farrier"} {
		if h := data[name]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "farrier" {
			t.Errorf("%s is %+v, want a link to farrier", name, h)
		}
	}
	for name, h := range data {
		if _, wanted := want[name]; wanted || h.Typeflag == tar.TypeReg {
			got[name] = row{h.Mode, h.Uname + ":" + h.Gname}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	control := headers(t, member(t, one.Bytes(), "control.tar.gz"))
	for _, name := range []string{"./control", "./conffiles", "./md5sums", "./postinst", "./prerm", "./postrm"} {
		if control[name] == nil {
			t.Errorf("the package has no %s", name)
		}
	}
}

// member returns a member of a package, which is an ar archive: a header of 60 bytes, with the size from 48 on, and the content, padded to an even length.
func member(t *testing.T, deb []byte, name string) []byte {
	t.Helper()
	for rest := deb[len("!<arch>\n"):]; len(rest) > 60; {
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimRight(string(rest[:16]), " /") == name {
			return rest[60 : 60+size]
		}
		rest = rest[60+size+size%2:]
	}
	t.Fatalf("no %s in the package", name)
	return nil
}

func headers(t *testing.T, compressed []byte) map[string]*tar.Header {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*tar.Header{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = h
	}
}

// TestScripts: a shell can read the scripts of the package.
func TestScripts(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		if out, err := exec.CommandContext(t.Context(), shell, "-n", filepath.Join("files", name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// mostExposed is what systemd may say of the unit, of 10: it calls up to 2.0 a service that is well confined.
const mostExposed = 1.9

// TestUnitIsHardened asks systemd how exposed the service is.
func TestUnitIsHardened(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	unit, err := filepath.Abs("files/farrier.service")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	if err != nil && strings.Contains(string(out), "unrecognized option") {
		t.Skip("this systemd-analyze does not read files")
	}
	level := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	if level == nil {
		t.Fatalf("systemd-analyze: %v\n%s", err, out)
	}
	if exposed, err := strconv.ParseFloat(string(level[1]), 64); err != nil || exposed > mostExposed {
		t.Errorf("the unit is exposed %s, %v, want %v at most\n%s", level[1], err, mostExposed, out)
	}
}
