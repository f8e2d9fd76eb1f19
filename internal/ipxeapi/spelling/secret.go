package spelling

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// Secret is a Secret that a webhook is asked with, and under which of its keys is what.
type Secret struct {
	// Namespace is empty for that of the Profile.
	Namespace, Name string
	// Certificate, PrivateKey and Authority are of mutual TLS; no Authority: the system's count.
	Certificate, PrivateKey, Authority string
	// Username and Password are of Basic authentication.
	Username, Password string
}

// MTLS is the Secret of a webhook's mutual TLS, nil if it has none.
func MTLS(w *ipxev1.Webhook) (*Secret, *Problem) {
	if w.MTLS != nil {
		return &Secret{Name: w.MTLS.SecretRef.Name, Certificate: corev1.TLSCertKey, PrivateKey: corev1.TLSPrivateKeyKey, Authority: corev1.ServiceAccountRootCAKey}, nil
	}
	ref := w.MTLSRef
	if ref == nil {
		return nil, nil
	}
	if ref.TLSInsecureSkipVerify {
		return nil, &Problem{Field: "webhook.mTLSRef.tlsInsecureSkipVerify", Reason: "a server that nobody verifies is not asked; caBundleJSONPath names its authority"}
	}
	s, problem := secretOf("webhook.mTLSRef", &ref.ResourceReference)
	if problem == nil {
		problem = keys("webhook.mTLSRef", []path{
			{"clientCertJSONPath", ref.ClientCertJSONPath, &s.Certificate}, {"clientKeyJSONPath", ref.ClientKeyJSONPath, &s.PrivateKey},
		})
	}
	if problem == nil && ref.CABundleJSONPath != "" {
		problem = keys("webhook.mTLSRef", []path{{"caBundleJSONPath", ref.CABundleJSONPath, &s.Authority}})
	}
	return s, problem
}

// BasicAuth is the Secret of a webhook's Basic authentication, nil if it has none.
func BasicAuth(w *ipxev1.Webhook) (*Secret, *Problem) {
	if w.BasicAuth != nil {
		return &Secret{Name: w.BasicAuth.SecretRef.Name, Username: corev1.BasicAuthUsernameKey, Password: corev1.BasicAuthPasswordKey}, nil
	}
	ref := w.BasicAuthRef
	if ref == nil {
		return nil, nil
	}
	s, problem := secretOf("webhook.basicAuthRef", &ref.ResourceReference)
	if problem == nil {
		problem = keys("webhook.basicAuthRef", []path{
			{"usernameJSONPath", ref.UsernameJSONPath, &s.Username}, {"passwordJSONPath", ref.PasswordJSONPath, &s.Password},
		})
	}
	return s, problem
}

func secretOf(field string, ref *ipxev1.ResourceReference) (*Secret, *Problem) {
	if ref.Group != "" || singular(ref.Resource) != "secret" {
		return nil, &Problem{Field: field + ".resource", Reason: fmt.Sprintf("%q of group %q: want secrets of the core group", ref.Resource, ref.Group)}
	}
	return &Secret{Namespace: ref.Namespace, Name: ref.Name}, nil
}

// path is a path into a Secret, and where its key goes.
type path struct {
	field, text string
	key         *string
}

func keys(field string, paths []path) *Problem {
	for _, p := range paths {
		key, err := Key(p.text)
		if err != nil {
			return &Problem{Field: field + "." + p.field, Reason: err.Error()}
		}
		*p.key = key
	}
	return nil
}

// dataKey is the key of .data.key, .data.a\.b, .data.'a.b' and .data['a.b'], with or without braces around.
var dataKey = regexp.MustCompile(`^\{?\.data(?:\.([A-Za-z0-9_-]+(?:\\\.[A-Za-z0-9_-]+)*)|\.'([^']+)'|\['([^']+)'\])\}?$`)

// Key is the key of a Secret or a ConfigMap that a JSON path names.
func Key(jsonPath string) (string, error) {
	match := dataKey.FindStringSubmatch(jsonPath)
	if match == nil {
		return "", fmt.Errorf("jsonpath %.64q names no key of data", jsonPath)
	}
	return strings.ReplaceAll(match[1]+match[2]+match[3], `\.`, "."), nil
}
