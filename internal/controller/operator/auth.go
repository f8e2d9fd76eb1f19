package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

var (
	errUnknown   = errors.New("no bearer token that the Kubernetes API knows")
	errForbidden = errors.New("not allowed")
)

// verbs are those of Kubernetes for paths that are no resources.
var verbs = map[string]string{http.MethodGet: "get", http.MethodHead: "head", http.MethodDelete: "delete"}

// maxToken is longer than any token of Kubernetes.
const maxToken = 16 << 10

// authorize asks the Kubernetes API who the caller is and whether it may. Only here is it asked, so an answer is never older
// than the request.
func (s *Server) authorize(ctx context.Context, r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return errUnknown
	}
	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := s.API.Create(ctx, who); err != nil {
		return fmt.Errorf("TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return errUnknown
	}
	user := who.Status.User
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: verbs[r.Method]},
	}}
	for key, values := range user.Extra {
		may.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := s.API.Create(ctx, may); err != nil {
		return fmt.Errorf("SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed {
		return errForbidden
	}
	return nil
}
