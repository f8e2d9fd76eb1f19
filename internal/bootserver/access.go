package bootserver

import (
	"net/http"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// mayReadIgnition decides who is given a machine's ignition.
//
// While a boot of ours is under way it is for the caller that the machine's session is bound to (identity.go), with AccessToken only if that has
// the token too. Where no boot of ours stands behind it nothing is proved about the caller: AccessExpected turns away those who are
// known to be somebody else, which is what images can do whose ignition URL somebody else has written.
func (s *Server) mayReadIgnition(r *http.Request, m *bootview.Machine, token string) verdict {
	if s.cfg.IgnitionAccess == AccessOpen {
		return admitted
	}
	p := noToken
	if m.HasToken(token) {
		p = rightToken
	}
	if p == noToken && (token != "" && m.Attempt().ID != "" || s.cfg.IgnitionAccess == AccessToken) && !s.proven(m, r) {
		// A token is there and must be right: one of an earlier attempt is not as good as none.
		return s.turnAway(s.request(r, m, p, false))
	}
	if m.Session() == nil {
		if !m.Attempt().IsOpen() || s.view.BelongsToOther(caller(r), m) {
			return closed
		}
		return admitted
	}
	q := s.request(r, m, p, p != noToken || m.Script().IsZero() || s.beganAfter(m))
	is, why := s.admit(q)
	if is == refused {
		s.alarm(q, Ignition, why)
	}
	return is
}

// proven reports whether the caller fetched its image by the URL that was given to the machine's BMC alone: as good as the token.
func (s *Server) proven(m *bootview.Machine, r *http.Request) bool {
	return m.Session() != nil && m.Session().Proven() && m.Session().Bound().Addr == caller(r)
}

// turnAway says what becomes of a request without the token that it needs. Somebody who is not the machine raises an alarm.
func (s *Server) turnAway(q request) verdict {
	session := q.machine.Session()
	if session == nil {
		return closed
	}
	if session.Terms().Seen.IsZero() && q.machine.Attempt().ID != "" {
		return early
	}
	if bound := session.Bound(); !bound.IsZero() {
		if is, why := s.recognise(q, bound, false); is == refused {
			s.alarm(q, Ignition, why)
		}
	} else {
		s.alarm(q, Ignition, wrongToken)
	}
	return refused
}
