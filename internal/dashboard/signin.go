package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/dashboard/page"
)

// What somebody is told who has to sign in.
const (
	whyExpired = "Your token has expired or was revoked. Sign in with another one."
	whyEnded   = "You are signed out: nobody used the page for an hour, twelve hours are over, or Farrier has started again."
	whyUnknown = "The Kubernetes API does not know this token, or it has expired."
	whyLink    = "This link was used before, or is older than two minutes. `farrier dashboard` prints another one."
	whyElse    = "Follow this link from your terminal or type it: another page has sent you here."
	whyOften   = "Too many unknown tokens came from your address. Try again in a minute."
	whySilent  = "The Kubernetes API does not answer, so that nobody knows whose this token is. Try again soon."
)

// session is that of a request, or a new one for a client certificate; nil: none, and why.
func (d *Dashboard) session(w http.ResponseWriter, r *http.Request) (*session, string) {
	s := d.sessions.of(r)
	if s == nil {
		if who, ok := d.certified(r); ok && r.Method == http.MethodGet && !hasSignedOut(r) {
			made, cookie := d.sessions.begin(who)
			http.SetCookie(w, cookie)
			return made, ""
		}
		if _, err := r.Cookie(cookieName); err == nil {
			return nil, whyEnded
		}
		return nil, ""
	}
	if !d.stillKnown(r, s) {
		d.sessions.end(s)
		return nil, whyExpired
	}
	s.touch(d.Clock.Now())
	return s, ""
}

// stillKnown reports whether the API still knows the token of a session, as far as anybody can tell.
func (d *Dashboard) stillKnown(r *http.Request, s *session) bool {
	now := d.Clock.Now()
	s.mu.Lock()
	due := s.token != "" && now.Sub(s.checked) >= checkEvery
	s.mu.Unlock()
	if !due {
		return true
	}
	user, err := d.Operator.TokenUser(r, s.token)
	if err == nil {
		s.mu.Lock()
		s.checked = now
		s.mu.Unlock()
		return user.Username == s.user.Username
	}
	return !errors.Is(err, operator.ErrUnknown) // without an API, its rights are not known either
}

// certified is whom the client certificate of the connection names.
func (d *Dashboard) certified(r *http.Request) (identity, bool) {
	user, until, ok := d.Operator.Certified(r)
	return identity{user: user, until: until}, ok
}

// hasSignedOut reports whether somebody has signed out, and in no more.
func hasSignedOut(r *http.Request) bool {
	_, err := r.Cookie(outName)
	return err == nil
}

// outCookie remembers that somebody has signed out; no life: it forgets that. Links from elsewhere send it, so that they sign nobody in.
func outCookie(life time.Duration) *http.Cookie {
	cookie := &http.Cookie{Name: outName, Value: "1", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if life > 0 {
		cookie.MaxAge = int(life.Seconds())
	}
	return cookie
}

// signInView is the form for a token; whoever has a client certificate may do without one.
func (d *Dashboard) signInView(r *http.Request, why, next string) page.View {
	who, _ := d.certified(r)
	return page.SignIn(why, next, who.user.Username)
}

// askToSignIn answers somebody who has no session.
func (d *Dashboard) askToSignIn(w http.ResponseWriter, r *http.Request, why string) {
	next := root
	if r.Method == http.MethodGet {
		next = r.URL.RequestURI()
	}
	v := d.signInView(r, why, next)
	v.Status = http.StatusUnauthorized
	d.write(w, r, nil, v)
}

// signInPage shows the form, also to somebody whose certificate would do.
func (d *Dashboard) signInPage(w http.ResponseWriter, r *http.Request) {
	d.write(w, r, nil, d.signInView(r, "", ownPath(r.URL.Query().Get("next"))))
}

// signIn takes a token, or the certificate of the connection.
func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSmallForm)
	if err := r.ParseForm(); err != nil {
		d.fail(w, r, nil, http.StatusBadRequest, "The form cannot be read: "+err.Error())
		return
	}
	next, token := ownPath(r.PostForm.Get("next")), strings.TrimSpace(r.PostForm.Get("token"))
	if who, ok := d.certified(r); ok && r.PostForm.Get("certificate") != "" {
		d.begin(w, r, who, next)
		return
	}
	user, err := d.Operator.TokenUser(r, token)
	if err != nil {
		status, why := unknownCaller(err)
		v := d.signInView(r, why, next)
		v.Status = status
		d.write(w, r, nil, v)
		return
	}
	d.begin(w, r, identity{user: user, token: token}, next)
}

// unknownCaller says why a token was not taken.
func unknownCaller(err error) (status int, why string) {
	switch {
	case errors.Is(err, operator.ErrUnknown):
		return http.StatusUnauthorized, whyUnknown
	case errors.Is(err, operator.ErrTooMany):
		return http.StatusTooManyRequests, whyOften
	}
	return http.StatusServiceUnavailable, whySilent
}

// begin signs somebody in, in place of who was signed in before.
func (d *Dashboard) begin(w http.ResponseWriter, r *http.Request, who identity, next string) {
	if before := d.sessions.of(r); before != nil {
		d.sessions.end(before)
	}
	_, cookie := d.sessions.begin(who)
	http.SetCookie(w, cookie)
	if hasSignedOut(r) {
		http.SetCookie(w, outCookie(0))
	}
	d.Logger.V(1).Info("signed in", "user", who.user.Username)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// enter takes the code of a link. Another page cannot send anybody there: it would sign them in as somebody else.
func (d *Dashboard) enter(w http.ResponseWriter, r *http.Request) {
	why := whyLink
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		why = whyElse
	} else if r.Header.Get("Sec-Purpose") == "" {
		if who, ok := d.sessions.useLink(r.URL.Query().Get("code")); ok {
			d.begin(w, r, who, root)
			return
		}
	}
	v := d.signInView(r, why, root)
	v.Status = http.StatusUnauthorized
	d.write(w, r, nil, v)
}

// link makes a link for whoever proves who they are.
func (d *Dashboard) link(w http.ResponseWriter, r *http.Request) {
	who, ok := d.certified(r)
	if !ok {
		token := operator.Bearer(r)
		user, err := d.Operator.TokenUser(r, token)
		if err != nil {
			status, _ := unknownCaller(err)
			http.Error(w, http.StatusText(status), status)
			return
		}
		who = identity{user: user, token: token}
	}
	code, ends, err := d.sessions.newLink(who)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(operator.DashboardLink{Path: root + "enter?code=" + code, User: who.user.Username, Ends: ends}) // nobody listens any more
}

// signOut ends a session.
func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request, s *session) {
	d.sessions.end(s)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	http.SetCookie(w, outCookie(outLife))
	http.Redirect(w, r, root+"signin", http.StatusSeeOther)
}

// ownPath is a path of the dashboard: what was asked for, or its first page.
func ownPath(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, root) || strings.HasPrefix(u.Path, root+"signin") || strings.Contains(asked, `\`) {
		return root
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
