package operator

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// ErrUnknown says that nobody knows who calls.
var ErrUnknown = errors.New("no client certificate, and no bearer token that the Kubernetes API knows")

var errForbidden = errors.New("not allowed")

// verbs are those of Kubernetes for paths that are no resources.
var verbs = map[string]string{http.MethodGet: "get", http.MethodHead: "head", http.MethodDelete: "delete"}

// maxToken is longer than any token of Kubernetes.
const maxToken = 16 << 10

// groupAuthenticated is the group of everybody whom the Kubernetes API knows. It adds it itself to those who call it; who is known by
// a certificate here has not called it.
const groupAuthenticated = "system:authenticated"

const (
	// ownAuthority is what the authority of farrier up calls itself, and longestOwn how long the certificates are valid that it gives to
	// administrators now, with the hour by which they are dated back.
	ownAuthority = "farrier"
	longestOwn   = 25 * time.Hour
	// groupMasters may do everything.
	groupMasters = "system:masters"
)

// authorize asks the Kubernetes API who the caller is and whether it may. Only here is it asked, so an answer is never older
// than the request.
func (s *Server) authorize(ctx context.Context, r *http.Request) (authenticationv1.UserInfo, error) {
	user, err := s.authenticate(ctx, r, tokenOf(r))
	if err != nil {
		return user, err
	}
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
	}}
	if server, ok := consoleOf(r); ok && s.Console != nil {
		may.Spec.ResourceAttributes = ConsoleAttributes(server, !readOnly(r))
	} else {
		may.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: verbs[r.Method]}
	}
	for key, values := range user.Extra {
		may.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := s.API.Create(ctx, may); err != nil {
		return user, fmt.Errorf("SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed {
		return user, errForbidden
	}
	return user, nil
}

// tokenOf returns the bearer token of a request; empty: it has none.
func tokenOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate says who calls: as the client certificate of the connection says, else as the token.
func (s *Server) authenticate(ctx context.Context, r *http.Request, token string) (authenticationv1.UserInfo, error) {
	if user, ok := s.certified(r); ok {
		return user, nil
	}
	return s.tokenUser(ctx, token)
}

// tokenUser asks the Kubernetes API whose a token is.
func (s *Server) tokenUser(ctx context.Context, token string) (authenticationv1.UserInfo, error) {
	if token == "" || len(token) > maxToken {
		return authenticationv1.UserInfo{}, ErrUnknown
	}
	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := s.API.Create(ctx, who); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return authenticationv1.UserInfo{}, ErrUnknown
	}
	return who.Status.User, nil
}

// certified is whom a client certificate names, by the rules of the Kubernetes API: the common name is the user, organizations are
// its groups. Only chains that the handshake has verified count. A connection may outlive the certificate that opened it.
func (s *Server) certified(r *http.Request) (authenticationv1.UserInfo, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return authenticationv1.UserInfo{}, false
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if leaf.Subject.CommonName == "" || s.Clock.Now().After(leaf.NotAfter) {
		return authenticationv1.UserInfo{}, false
	}
	if unending(leaf) {
		return authenticationv1.UserInfo{}, false
	}
	groups := slices.Clone(leaf.Subject.Organization)
	if !slices.Contains(groups, groupAuthenticated) {
		groups = append(groups, groupAuthenticated)
	}
	return authenticationv1.UserInfo{Username: leaf.Subject.CommonName, Groups: groups}, true
}

// unending reports whether a certificate is one of those that former versions of farrier up gave to administrators for five years. Its API
// takes them no longer, wherever copies of them lie; other authorities may give theirs for as long as they like.
func unending(leaf *x509.Certificate) bool {
	return leaf.Issuer.CommonName == ownAuthority && slices.Contains(leaf.Subject.Organization, groupMasters) && leaf.NotAfter.Sub(leaf.NotBefore) > longestOwn
}
