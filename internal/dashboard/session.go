package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
)

const (
	// cookieName begins with __Host-, so that browsers take it over TLS and from this host alone (RFC 6265bis §4.1.3.2).
	cookieName = "__Host-farrier"
	// outName is the cookie of whoever has signed out, so that their client certificate does not sign them in again, and outLife how long
	// browsers keep one at most.
	outName, outLife = "__Host-farrier-out", 400 * 24 * time.Hour
	// sessionIdle ends a session that nobody uses, and sessionLife every session.
	sessionIdle, sessionLife = time.Hour, 12 * time.Hour
	// maxSessions is how many there are, and maxSessionsEach how many a person has. A new one takes the place of the one that was used least
	// recently.
	maxSessions, maxSessionsEach = 1000, 20
	// linkLife is how long a link can be used.
	linkLife = 2 * time.Minute
	maxLinks = 200
	// secretBytes is more than anybody can guess.
	secretBytes = 32
)

// identity is who somebody is, and what proves it to the Kubernetes API.
type identity struct {
	user authenticationv1.UserInfo
	// token proves it; empty: a client certificate has, and Farrier speaks to the API for its holder.
	token string
	// until is when a certificate ends; zero: the API says when a token does.
	until time.Time
}

// session is what follows from one sign-in.
type session struct {
	identity
	id   string
	csrf []byte
	// rights remembers for seconds what the API has answered about them.
	rights reviewed

	mu sync.Mutex
	// used is when it was used last, checked when its token was known last, made when it began.
	used, checked, made time.Time
	notice              notice
	streams             int
}

// notice is what the next page says of the last act.
type notice struct {
	text string
	bad  bool
}

// tell leaves a notice for the next page.
func (s *session) tell(text string, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = notice{text, bad}
}

// told takes the notice.
func (s *session) told() notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notice
	s.notice = notice{}
	return n
}

// over reports whether a session has ended by itself.
func (s *session) over(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.used) > sessionIdle || now.Sub(s.made) > sessionLife || !s.until.IsZero() && now.After(s.until)
}

func (s *session) lastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (s *session) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = now
}

// formToken is what forms of this session send. It looks different on each page, so that the length of compressed pages tells nothing about it.
func (s *session) formToken() string {
	mask := random()
	hidden := make([]byte, secretBytes)
	subtle.XORBytes(hidden, s.csrf, mask)
	return base64.RawURLEncoding.EncodeToString(append(mask, hidden...))
}

// hasSent reports whether a form is of this session.
func (s *session) hasSent(formToken string) bool {
	text, err := base64.RawURLEncoding.DecodeString(formToken)
	if err != nil || len(text) != 2*secretBytes {
		return false
	}
	sent := make([]byte, secretBytes)
	subtle.XORBytes(sent, text[:secretBytes], text[secretBytes:])
	return subtle.ConstantTimeCompare(sent, s.csrf) == 1
}

// random returns secretBytes that nobody can guess.
func random() []byte {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	return b
}

// link lets somebody in once.
type link struct {
	identity
	ends time.Time
}

// sessions are all that there are, in memory: whoever restarts Farrier signs everybody out.
type sessions struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// byID and links have the digests of what browsers send as keys, so that looking one up tells nothing about another.
	byID  map[string]*session
	links map[string]link
}

func newSessions(c clock.PassiveClock) *sessions {
	return &sessions{clock: c, byID: map[string]*session{}, links: map[string]link{}}
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return string(sum[:])
}

// begin makes a session, and returns its cookie.
func (s *sessions) begin(who identity) (*session, *http.Cookie) {
	now := s.clock.Now()
	secret := base64.RawURLEncoding.EncodeToString(random())
	made := &session{identity: who, id: digest(secret), csrf: random(), used: now, checked: now, made: now}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(who.user.Username, now)
	s.byID[made.id] = made
	return made, &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife.Seconds()),
	}
}

// makeRoom removes those that are over, and the oldest of a person or of all if there are too many.
func (s *sessions) makeRoom(person string, now time.Time) {
	var oldest, theirs *session
	count := 0
	older := func(a, b *session) *session {
		if a == nil || b.lastUsed().Before(a.lastUsed()) {
			return b
		}
		return a
	}
	for id, each := range s.byID {
		if each.over(now) {
			delete(s.byID, id)
			continue
		}
		oldest = older(oldest, each)
		if each.user.Username == person {
			theirs = older(theirs, each)
			count++
		}
	}
	switch {
	case count >= maxSessionsEach:
		delete(s.byID, theirs.id)
	case len(s.byID) >= maxSessions:
		delete(s.byID, oldest.id)
	}
}

// of returns the session of a request; nil: it has none.
func (s *sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	id, now := digest(cookie.Value), s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[id]
	if found == nil || found.over(now) {
		delete(s.byID, id)
		return nil
	}
	return found
}

// has reports whether a session still exists.
func (s *sessions) has(wanted *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[wanted.id] == wanted && !wanted.over(s.clock.Now())
}

func (s *sessions) end(ended *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, ended.id)
}

var errManyLinks = errors.New("there are many links that nobody has used: try again in two minutes")

// newLink makes a link, and returns its code.
func (s *sessions) newLink(who identity) (code string, ends time.Time, err error) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.links {
		if now.After(l.ends) {
			delete(s.links, id)
		}
	}
	if len(s.links) >= maxLinks {
		return "", ends, errManyLinks
	}
	code, ends = base64.RawURLEncoding.EncodeToString(random()), now.Add(linkLife)
	s.links[digest(code)] = link{who, ends}
	return code, ends, nil
}

// useLink returns whose link it is. It can be used no more.
func (s *sessions) useLink(code string) (identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.links[digest(code)]
	delete(s.links, digest(code))
	return l.identity, ok && !s.clock.Now().After(l.ends)
}
