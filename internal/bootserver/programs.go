package bootserver

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/inbound/progress"
	"github.com/farrier-dev/farrier/internal/netboot/bootfiles"
)

var (
	typeEFI    = []string{"application/efi"}
	typeBinary = []string{"application/octet-stream"}
)

// openPrograms opens the directory of network boot programs, <arch>/<file>.
func openPrograms(dir string) (*bootfiles.Dir, error) {
	if dir == "" {
		return nil, nil
	}
	return bootfiles.Open(dir)
}

// serveProgram answers /boot/{arch}/{file}: a network boot program. Directories are not listed.
func (s *Server) serveProgram(w http.ResponseWriter, r *http.Request, rest string) {
	arch, name, _ := strings.Cut(rest, "/")
	if s.programs == nil || !bootfiles.Name(arch) || !bootfiles.Name(name) {
		notFound(w, r)
		return
	}
	f, info := s.openProgram(arch + "/" + name)
	if f == nil {
		notFound(w, r)
		return
	}
	defer func() { _ = f.Close() }()
	p := progress.New(w)
	h := w.Header()
	h["Content-Type"] = programType(name)
	h["X-Content-Type-Options"] = nosniff
	http.ServeContent(p, r, "", info.ModTime(), f)
	s.deliveredToAddress(r, Program, p.Status, p.Total, func(*bootview.Machine) string { return rest })
}

// openProgram returns nil for what is no boot program.
func (s *Server) openProgram(path string) (*os.File, fs.FileInfo) {
	f, info, err := s.programs.File(path)
	if err != nil && !errors.Is(err, bootfiles.ErrNotFound) {
		s.cfg.Logger.Info("boot program cannot be read", "file", path, "error", err)
	}
	return f, info
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
