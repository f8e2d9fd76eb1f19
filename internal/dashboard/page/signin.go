package page

import "net/http"

// SignIn asks for a token. why says what was wrong with the last one; next is where to go afterwards.
func SignIn(why, next string) View {
	v := view("Sign in", "", "signin", struct{ Why, Next string }{why, next})
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
