package bootserver

import (
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// A script is filled in with the base under which its reader goes on. Which that is depends on where the machine stands,
// and on the address family in which it asks: a network of IPv6 alone does not lead to an IPv4 address.

// baseOf is the base for a machine that is known; empty: there is none, and iPXE is disabled.
func (s *Server) baseOf(r *http.Request, m *bootview.Machine) string {
	return s.cfg.Sites.Of(m.Site).For(caller(r))
}

// nearBase is the base for a caller of whom no more is known than the host it asked: that it has reached.
func (s *Server) nearBase(r *http.Request) string {
	return s.cfg.Sites.OfHost(r.Host).For(caller(r))
}

// chainloads renders the chainload script for each base.
func (s *Server) chainloads() map[string][]byte {
	scripts := map[string][]byte{}
	for _, base := range s.cfg.Sites.Bases() {
		scripts[base] = bootview.ChainloadScript().Render(base)
	}
	return scripts
}
