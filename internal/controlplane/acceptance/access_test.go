package acceptance

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

func TestOnlyHealthIsOpenToEverybody(t *testing.T) {
	t.Parallel()
	cfg := rest.AnonymousClientConfig(testapi.Start(t))
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/healthz":           http.StatusOK,
		"/livez":             http.StatusOK,
		"/readyz":            http.StatusOK,
		"/":                  http.StatusUnauthorized,
		"/version":           http.StatusUnauthorized,
		"/metrics":           http.StatusUnauthorized,
		"/openapi/v3":        http.StatusUnauthorized,
		"/apis":              http.StatusUnauthorized,
		"/api/v1/namespaces": http.StatusUnauthorized,
		"/api/v1/secrets":    http.StatusUnauthorized,
	} {
		t.Run(path, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
			if response.StatusCode != want {
				t.Errorf("GET %s: %s, want %d: %s", path, response.Status, want, body)
			}
		})
	}
}

func TestUserWithoutRightsIsRefused(t *testing.T) {
	cfg := testapi.Start(t)
	namespace := testapi.Namespace(t)
	admin := clientset(t, cfg)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "nobody"}}
	if _, err := admin.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	userConfig := rest.AnonymousClientConfig(cfg)
	userConfig.BearerToken = token.Status.Token
	user := clientset(t, userConfig)

	if _, err := user.Discovery().ServerVersion(); err != nil {
		t.Errorf("discovery: %v, want it allowed to every user", err)
	}
	if _, err := user.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing secrets: %v, want forbidden", err)
	}

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
	}}
	if _, err := admin.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: namespace}},
	}
	if _, err := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role binding lets the user list secrets", func(ctx context.Context) (bool, error) {
		_, err := user.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	})
	if _, err := user.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing secrets of another namespace: %v, want forbidden", err)
	}
}

func TestInitialRolesExist(t *testing.T) {
	client := clientset(t, testapi.Start(t)).RbacV1()
	for _, name := range []string{"cluster-admin", "system:discovery", "system:basic-user"} {
		if _, err := client.ClusterRoles().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client.ClusterRoleBindings().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestListeningEverywhere(t *testing.T) {
	t.Parallel()
	process := testapi.Launch(t, "--data-dir", filepath.Join(t.TempDir(), "data"), "--api-address", "0.0.0.0:0").MustBeReady(t)
	if host := process.RESTConfig().Host; !strings.HasPrefix(host, "https://127.0.0.1:") {
		t.Errorf("the kubeconfig names %s, want an address that can be connected to", host)
	}
	if _, err := clientset(t, process.RESTConfig()).Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}
