package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/console"
)

var errSignedOut = errors.New("you have signed out")

// console connects a page with the serial console of a server: to write where the person may, otherwise to read.
func (d *Dashboard) console(w http.ResponseWriter, r *http.Request, s *session) {
	server := r.PathValue("server")
	write, err := d.mayUseConsole(r.Context(), s, server)
	if err != nil {
		d.write(w, r, s, d.failure(err))
		return
	}
	needed := consoleAction(server, "get")
	if write {
		needed = consoleAction(server, "create")
	}
	d.Operator.Watch(w, r, server, console.Access{User: s.user.Username, Write: write, Recheck: func(ctx context.Context) error {
		if !d.sessions.has(s) {
			return errSignedOut
		}
		s.touch(d.Clock.Now())
		return d.require(ctx, s, needed)
	}})
}

func consoleAction(server, verb string) action {
	return action{verb: verb, group: metalv1.GroupVersion.Group, resource: "servers", subresource: "console", name: server}
}

// mayUseConsole reports whether somebody may write to the console of a server; the error says that they may not even read it.
func (d *Dashboard) mayUseConsole(ctx context.Context, s *session, server string) (write bool, err error) {
	if write, err = d.may(ctx, s, consoleAction(server, "create")); write || err != nil {
		return write, err
	}
	return false, d.require(ctx, s, consoleAction(server, "get"))
}

// withTerminal has a page take the styles that a terminal makes, and no others: they carry what it returns (CSP level 3, nonces).
func withTerminal(w http.ResponseWriter) (nonce string) {
	nonce = rand.Text()
	w.Header().Set("Content-Security-Policy", policy("'self' 'nonce-"+nonce+"'"))
	return nonce
}
