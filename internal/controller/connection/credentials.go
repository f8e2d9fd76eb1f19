package connection

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Secrets reads credentials.
type Secrets struct {
	// Reader reads past the caches: credentials are read when something changes, so keeping them all in
	// memory buys nothing.
	Reader client.Reader
	// Namespace is the manager's own. Its Secrets may back BMCSecrets, and those of namespaces that are
	// labelled so; else whoever may write BMCSecrets could read every Secret that there is.
	Namespace string
}

// Credentials reads the credentials that a BMCSecret stands for.
func (s Secrets) Credentials(ctx context.Context, name string) (bmc.Credentials, error) {
	_, credentials, err := s.Read(ctx, name)
	return credentials, err
}

// Read is Credentials for those who want to see the BMCSecret too. It is nil if there is none.
func (s Secrets) Read(ctx context.Context, name string) (*metalv1.BMCSecret, bmc.Credentials, error) {
	var secret metalv1.BMCSecret
	if err := s.Reader.Get(ctx, client.ObjectKey{Name: name}, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, bmc.Credentials{}, reconcileerror.Terminalf(ReasonSecretNotFound, "BMCSecret %q does not exist", name)
		}
		return nil, bmc.Credentials{}, fmt.Errorf("BMCSecret %q: %w", name, err)
	}
	if _, backed := secret.Annotations[metalv1.AnnotationSecret]; backed {
		credentials, err := s.backed(ctx, &secret)
		return &secret, credentials, err
	}
	// Some makes ship without a password: then an empty one of theirs is a password.
	_, theirs := secret.Annotations[metalv1.AnnotationDefaultCredentials]
	credentials, err := complete(fmt.Sprintf("BMCSecret %q", name), theirs, func(key string) (string, bool) {
		if v, ok := secret.Data[key]; ok { // data is read before stringData, as the contract of the kind says
			return string(v), true
		}
		v, ok := secret.StringData[key]
		return v, ok
	})
	return &secret, credentials, err
}

// backed reads the core Secret that a BMCSecret stands for.
func (s Secrets) backed(ctx context.Context, secret *metalv1.BMCSecret) (bmc.Credentials, error) {
	key, ok := Backing(secret)
	if !ok {
		return bmc.Credentials{}, reconcileerror.Terminalf(ReasonSecretIncomplete, "BMCSecret %q: annotation %s: %q is not <namespace>/<name>",
			secret.Name, metalv1.AnnotationSecret, secret.Annotations[metalv1.AnnotationSecret])
	}
	if err := s.allow(ctx, key.Namespace); err != nil {
		return bmc.Credentials{}, err
	}
	var core corev1.Secret
	if err := s.Reader.Get(ctx, key, &core); err != nil {
		if apierrors.IsNotFound(err) {
			return bmc.Credentials{}, reconcileerror.Terminalf(ReasonSecretNotFound, "Secret %q, which BMCSecret %q refers to, does not exist", key, secret.Name)
		}
		return bmc.Credentials{}, fmt.Errorf("Secret %q: %w", key, err)
	}
	return complete(fmt.Sprintf("Secret %q", key), false, func(k string) (string, bool) { return string(core.Data[k]), true })
}

// allow reports whether Secrets of a namespace may be used. That there is no such namespace is not told
// apart: the answer would be worth something to somebody who may not look.
func (s Secrets) allow(ctx context.Context, namespace string) error {
	if namespace == s.Namespace {
		return nil
	}
	var ns corev1.Namespace
	err := s.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("Namespace %q: %w", namespace, err)
	}
	if err != nil || ns.Labels[metalv1.LabelBMCSecrets] != metalv1.LabelBMCSecretsAllowed {
		return reconcileerror.Terminalf(ReasonSecretNotAllowed, "namespace %q is not labelled %s=%s", namespace, metalv1.LabelBMCSecrets, metalv1.LabelBMCSecretsAllowed)
	}
	return nil
}

// Backing returns the core Secret that a BMCSecret says it stands for, if it names one.
func Backing(secret client.Object) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[metalv1.AnnotationSecret], "/")
	ok = ok && namespace != "" && name != "" && !strings.Contains(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// complete makes credentials of the values of a secret. An empty password is one that somebody forgot, unless
// emptyPassword says that there may be one.
func complete(where string, emptyPassword bool, value func(key string) (string, bool)) (bmc.Credentials, error) {
	username, _ := value(metalv1.BMCSecretUsernameKey)
	password, there := value(metalv1.BMCSecretPasswordKey)
	missing := ""
	switch {
	case username == "":
		missing = metalv1.BMCSecretUsernameKey
	case password == "" && !(there && emptyPassword):
		missing = metalv1.BMCSecretPasswordKey
	}
	if missing != "" {
		return bmc.Credentials{}, reconcileerror.Terminalf(ReasonSecretIncomplete, "%s has no key %q", where, missing)
	}
	return bmc.Credentials{Username: username, Password: bmc.Secret(password)}, nil
}
