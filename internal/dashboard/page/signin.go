package page

import "net/http"

// SignIn asks for a token. why says what was wrong with the last one; next is where to go afterwards; certified is whom a client certificate
// names, who needs none; empty: nobody.
func SignIn(why, next, certified string) View {
	v := view("Sign in", "", "signin", struct{ Why, Next, Certified string }{why, next, certified})
	v.Live = false
	if why != "" {
		v.Status = http.StatusUnauthorized
	}
	return v
}

// Failure says why there is no page.
func Failure(status int, why string) View {
	v := view(http.StatusText(status), "", "failure", struct {
		Status    int
		Text, Why string
	}{status, http.StatusText(status), why})
	v.Status, v.Live = status, false
	return v
}
