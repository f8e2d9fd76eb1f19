package bootserver

import (
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// mayReadIgnition decides who is given a machine's ignition.
//
// Only the token proves anything, and only that the caller has seen the script of
// the open attempt. Without one nothing is proved: AccessExpected turns away those who are
// known to be somebody else, and everyone once the boot is over. It is what existing
// images can do, whose ignition URL somebody else has written.
func (s *Server) mayReadIgnition(r *http.Request, m *bootview.Machine, token string) bool {
	switch s.cfg.IgnitionAccess {
	case AccessOpen:
		return true
	case AccessToken:
		return m.HasToken(token)
	}
	if token != "" && m.Attempt.ID != "" {
		// A token is there and must be right: one of an earlier attempt is not
		// as good as none.
		return m.HasToken(token)
	}
	return m.Attempt.IsOpen() && !s.view.BelongsToOther(caller(r), m)
}
