package controlplane

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	authenticators "k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authorization/path"
	authorizers "k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
	"github.com/farrier-dev/farrier/internal/controlplane/pki"
)

// tokenIssuer is the issuer of service account tokens and, as usual, their audience.
const tokenIssuer = "https://kubernetes.default.svc"

// healthPaths may be read by anybody: probes carry no certificate.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// authenticationOptions accept client certificates of our authority and tokens of service accounts.
func authenticationOptions(c *certificates) (*kubeoptions.BuiltInAuthenticationOptions, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("farrier", c.authority.CertPEM)
	if err != nil {
		return nil, fmt.Errorf("client authority: %w", err)
	}
	opts := kubeoptions.NewBuiltInAuthenticationOptions().WithClientCert().WithRequestHeader().WithServiceAccounts()
	opts.ClientCert.CAContentProvider = ca
	opts.ServiceAccounts.Issuers = []string{tokenIssuer}
	opts.ServiceAccounts.KeyFiles = []string{c.signingKey}
	opts.ServiceAccounts.OptionalTokenGetter = newTokenGetter
	return opts, nil
}

// openHealth lets everybody read the health endpoints and nothing else. Anonymous requests for any other path stay unauthenticated, so no
// role binding can open the API to people without a certificate or token.
func openHealth(config *genericapiserver.Config) error {
	conditions := make([]apiserver.AnonymousAuthCondition, 0, len(healthPaths))
	for _, p := range healthPaths {
		conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: p})
	}
	known := newRemembered(briefAdmins{config.Authentication.Authenticator}, clock.RealClock{})
	config.Authentication.Authenticator = authenticators.NewFailOnError(known, anonymous.NewAuthenticator(conditions))

	open, err := path.NewAuthorizer(healthPaths)
	if err != nil {
		return fmt.Errorf("authorization of health endpoints: %w", err)
	}
	config.Authorization.Authorizer = authorizers.New(open, config.Authorization.Authorizer)
	return nil
}

// briefAdmins refuses certificates of administrators that are valid for longer than a day. Nobody makes such now; former versions gave out some
// for five years, and copies of them may lie anywhere.
type briefAdmins struct{ authenticator.Request }

func (b briefAdmins) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := b.Request.AuthenticateRequest(request)
	if err != nil || !ok || request.TLS == nil || len(request.TLS.PeerCertificates) == 0 {
		return response, ok, err
	}
	shown := request.TLS.PeerCertificates[0]
	if kubeconfig.Privileged(shown.Subject.Organization) && pki.Lifetime(shown) > kubeconfig.MaxValidity {
		return nil, false, fmt.Errorf("the certificate of %s is an administrator's and valid for longer than %s: use the kubeconfig that farrier up wrote last",
			shown.Subject.CommonName, kubeconfig.MaxValidity)
	}
	return response, ok, nil
}

// tokenGetter finds what a service account token is bound to. Pods and nodes are not served, so a token bound to one is not valid.
type tokenGetter struct {
	accounts corelisters.ServiceAccountLister
	secrets  corelisters.SecretLister
}

func newTokenGetter(factory informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
	return tokenGetter{
		accounts: factory.Core().V1().ServiceAccounts().Lister(),
		secrets:  factory.Core().V1().Secrets().Lister(),
	}
}

func (g tokenGetter) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return g.accounts.ServiceAccounts(namespace).Get(name)
}

func (g tokenGetter) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return g.secrets.Secrets(namespace).Get(name)
}

func (tokenGetter) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (tokenGetter) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}
