package sim

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	// maxSessions is how many fit into the session table, as in most BMCs.
	maxSessions           = 8
	defaultSessionSeconds = 1800
	minSessionSeconds     = 30
	maxSessionSeconds     = 86400
	maxContext            = 256
)

type session struct {
	id, token, account, user, context string
	number                            int // as id, for those who count
	created, used                     time.Time
	uses                              int
	filler                            bool // of a fault; nobody logged in
}

// bySession finds the caller behind a token. Using a session keeps it alive.
func (b *bmc) bySession(token string) (caller, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	found := -1
	for i, s := range b.sessions {
		if subtle.ConstantTimeCompare([]byte(s.token), []byte(token)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return caller{}, errUnauthorized
	}
	s := &b.sessions[found]
	s.uses++
	if lost, ok := b.struck(fault.SessionLoss, ""); ok && s.uses > lost.Value.Count {
		b.sessions = slices.Delete(b.sessions, found, found+1)
		return caller{}, errUnauthorized
	}
	i := slices.IndexFunc(b.accounts, func(a account) bool { return a.id == s.account && a.enabled })
	if i < 0 {
		return caller{}, errUnauthorized
	}
	s.used = b.rack.opts.Clock.Now()
	if s.number < b.newestSession[s.account] {
		b.stats.add(func(s *Stats) { s.OldSessions++ })
	}
	if b.newestSession == nil {
		b.newestSession = map[string]int{}
	}
	b.newestSession[s.account] = max(b.newestSession[s.account], s.number)
	return caller{account: s.account, role: b.accounts[i].role, session: s.id}, nil
}

func (b *bmc) expireLocked() {
	now := b.rack.opts.Clock.Now()
	idle := time.Duration(b.sessionSeconds) * time.Second
	full, ok := b.struck(fault.SessionTableFull, "")
	if !ok {
		b.filledBy = ""
	}
	b.dropSessionsLocked(func(s session) bool {
		if s.filler {
			return !ok
		}
		return now.Sub(s.used) >= idle
	})
	if ok && b.filledBy != full.ID {
		b.filledBy = full.ID
		b.fillLocked(full.Value.Text, now)
	}
}

// fillLocked takes all the room there is, once: whoever deletes one has room.
func (b *bmc) fillLocked(context string, now time.Time) {
	for len(b.sessions) < maxSessions {
		b.nextSession++
		b.sessions = append(b.sessions, session{
			id: strconv.Itoa(b.nextSession), token: rand.Text(), user: "somebody", context: context, created: now, used: now, filler: true,
		})
	}
}

func (b *bmc) dropSessionsLocked(which func(session) bool) {
	b.sessions = slices.DeleteFunc(b.sessions, which)
}

// postSession logs in (DSP0266 §13.3).
func postSession(b *bmc, _ caller, _ *http.Request, body object) (answer, error) {
	user, password, context := "", "", ""
	for name, into := range map[string]*string{"UserName": &user, "Password": &password, "Context": &context} {
		value, given := body[name]
		text, ok := value.(string)
		switch {
		case !given && name != "Context":
			return answer{}, errMissing(name)
		case given && !ok || len(text) > maxContext:
			return answer{}, errValueType(name)
		}
		*into = text
	}
	a, err := b.byPassword(user, password)
	if err != nil {
		b.stats.add(func(s *Stats) { s.Refused++ })
		if errors.Is(err, errLocked) || errors.Is(err, errExpired) {
			return answer{}, err
		}
		return answer{}, &failure{status: http.StatusUnauthorized, id: "ResourceAtUriUnauthorized", text: "While accessing the resource at '%1', the service received an authorization error '%2'.", args: []string{sessionsURI, "invalid credentials"}}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	if len(b.sessions) >= maxSessions {
		return answer{}, b.quirks.sessionLimit
	}
	b.nextSession++
	now := b.rack.opts.Clock.Now()
	s := session{id: strconv.Itoa(b.nextSession), number: b.nextSession, token: rand.Text(), account: a.id, user: a.user, context: context, created: now, used: now}
	b.sessions = append(b.sessions, s)
	b.stats.add(func(s *Stats) { s.Logins++ })
	made := answer{
		status: http.StatusCreated, body: s.body(),
		header: map[string]string{"Location": sessionsURI + "/" + s.id, "X-Auth-Token": s.token},
	}
	if _, ok := b.struck(fault.NoToken, ""); ok {
		delete(made.header, "X-Auth-Token")
	}
	return made, nil
}

func (s session) body() object {
	o := object{
		"@odata.id": sessionsURI + "/" + s.id, "@odata.type": "#Session.v1_7_2.Session",
		"Id": s.id, "Name": "User Session", "UserName": s.user, "Password": nil, "SessionType": "Redfish",
		"CreatedTime": s.created.UTC().Format(time.RFC3339),
	}
	if s.context != "" {
		o["Context"] = s.context
	}
	return o
}

func (b *bmc) sessionIDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	ids := make([]string, len(b.sessions))
	for i, s := range b.sessions {
		ids[i] = s.id
	}
	return ids
}

func getSession(b *bmc, r *http.Request) (object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	for _, s := range b.sessions {
		if s.id == r.PathValue("id") {
			return s.body(), nil
		}
	}
	return nil, errNotFound(r.URL.Path)
}

// deleteSession logs out: everybody their own, administrators anybody's.
func deleteSession(b *bmc, c caller, r *http.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireLocked()
	i := slices.IndexFunc(b.sessions, func(s session) bool { return s.id == r.PathValue("id") })
	if i < 0 {
		return errNotFound(r.URL.Path)
	}
	if b.sessions[i].account != c.account && c.role != roleAdministrator {
		return errPrivilege
	}
	b.sessions = slices.Delete(b.sessions, i, i+1)
	return nil
}

func getSessionService(b *bmc, _ *http.Request) (object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return object{
		"@odata.id": sessionServiceURI, "@odata.type": "#SessionService.v1_1_9.SessionService",
		"Id": "SessionService", "Name": "Session Service", "ServiceEnabled": true, "SessionTimeout": b.sessionSeconds,
		"Status": healthy(), "Sessions": link(sessionsURI),
	}, nil
}

func patchSessionService(b *bmc, c caller, _ *http.Request, body object) error {
	if c.role != roleAdministrator {
		return errPrivilege
	}
	for name, value := range body {
		if name != "SessionTimeout" {
			return errUnknownProperty(name)
		}
		seconds, ok := value.(float64)
		if !ok || seconds < minSessionSeconds || seconds > maxSessionSeconds {
			return errValueType(name)
		}
		b.mu.Lock()
		b.sessionSeconds = int(seconds)
		b.mu.Unlock()
	}
	return nil
}

// ForgetSessions ends all sessions at BMC i, as a restart of it does. Others that fill its table come back.
func (r *Rack) ForgetSessions(i int) {
	b := r.bmcs[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropSessionsLocked(func(session) bool { return true })
	b.filledBy = ""
}
