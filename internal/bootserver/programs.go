package bootserver

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/farrier-dev/farrier/internal/bootview"
)

var (
	typeEFI    = []string{"application/efi"}
	typeBinary = []string{"application/octet-stream"}
)

// openPrograms opens the directory of network boot programs, <arch>/<file>. Nothing outside of it can be
// reached through an os.Root, whatever links it holds.
func openPrograms(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("boot programs: %w", err)
	}
	return root, nil
}

// serveProgram answers /boot/{arch}/{file}: a network boot program. Directories are not listed.
func (s *Server) serveProgram(w http.ResponseWriter, r *http.Request, rest string) {
	arch, name, _ := strings.Cut(rest, "/")
	if s.programs == nil || !programName(arch) || !programName(name) {
		notFound(w, r)
		return
	}
	f, info := s.openProgram(arch + "/" + name)
	if f == nil {
		notFound(w, r)
		return
	}
	defer func() { _ = f.Close() }()
	p := newProgressWriter(w)
	h := w.Header()
	h["Content-Type"] = programType(name)
	h["X-Content-Type-Options"] = nosniff
	http.ServeContent(p, r, "", info.ModTime(), f)
	s.deliveredToAddress(r, Program, p.status, p.total, func(*bootview.Machine) string { return rest })
}

// openProgram returns nil for what is no regular file. A link could be to anything, and to open a pipe would wait for
// its other end.
func (s *Server) openProgram(path string) (*os.File, fs.FileInfo) {
	if info, err := s.programs.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := s.programs.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.cfg.Logger.Info("boot program cannot be read", "file", path, "error", err)
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, nil
	}
	return f, info
}

// programName allows what names boot programs in the field: snponly.efi, undionly.kpxe, x86_64. It does not begin with a
// dot, so it is neither hidden nor a way up.
func programName(s string) bool {
	const longest = 128
	if s == "" || len(s) > longest || s[0] == '.' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return true
}

// programType: firmware that boots over HTTP goes by the media type (UEFI 2.10 §24.7.5.2).
func programType(name string) []string {
	switch {
	case strings.HasSuffix(name, ".efi"):
		return typeEFI
	case strings.HasSuffix(name, ".ipxe"):
		return typeScript
	}
	return typeBinary
}
