package manager

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestMetadataOfAClaimedMachine: a running machine learns about itself, known by its address; others learn nothing.
func TestMetadataOfAClaimedMachine(t *testing.T) {
	s := newSite(t)
	s.args = append(s.args, "--metadata")
	m := launch(t, "first", s.args...)
	m.isReady()
	s.discover()
	claim, name := s.claimWithUserData()
	const stranger = "127.0.0.78"
	server := &metalv1.Server{}
	if err := s.Get(t.Context(), client.ObjectKey{Name: name}, server); err != nil {
		t.Fatal(err)
	}
	before := server.DeepCopy()
	server.Annotations = map[string]string{metalv1.MetadataPrefix + "zone": "b"}
	if err := s.Patch(t.Context(), server, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	its := addressOf(t, server)
	for _, c := range []struct {
		from, path, flavor string
		status             int
		want               string
	}{
		{its, "/v1/", "IronCore Metal", 200, fmt.Sprintf(`{"server-name":%q,"user-data":{"greeting":"hello of %s"},"zone":"b"}`, name, claim)},
		{its, "/v1/zone", "IronCore Metal", 200, "b"},
		{its, "/v1/user-data/greeting", "IronCore Metal", 200, "hello of " + claim},
		{its, "/v1/user-data", "IronCore Metal", 200, fmt.Sprintf(`{"greeting":"hello of %s"}`, claim)},
		{its, "/v1/none", "IronCore Metal", 404, ""},
		{its, "/v1/", "", 403, ""},
		{stranger, "/v1/", "IronCore Metal", 404, ""},
	} {
		eventually(t, c.path+" from "+c.from, func() error {
			status, body, err := s.askFrom(c.from, c.path, c.flavor)
			if err == nil && (status != c.status || c.want != "" && body != c.want) {
				err = fmt.Errorf("%d %q, want %d %q", status, body, c.status, c.want)
			}
			return err
		})
	}
	m.stop()
}

// addressOf is the address that the probe of a machine has reported, which is one of this host's.
func addressOf(t *testing.T, server *metalv1.Server) string {
	t.Helper()
	for _, n := range server.Status.NetworkInterfaces {
		for _, text := range append(n.IPs, n.IP) {
			if ip := net.ParseIP(text); ip.IsLoopback() && ip.To4() != nil {
				return text
			}
		}
	}
	t.Fatalf("no address of the Server is one of this host's: %+v", server.Status.NetworkInterfaces)
	return ""
}

// claimWithUserData has a server bound, and returns the claim and the Server.
func (s *site) claimWithUserData() (claim, server string) {
	s.t.Helper()
	name := metav1.ObjectMeta{Namespace: s.namespace, Name: "told"}
	c := &metalv1.ServerClaim{ObjectMeta: name}
	c.Spec.Power, c.Spec.Image = metalv1.PowerOff, s.registry.Reference("os", "1")
	c.Spec.UserDataRef = &metalv1.LocalObjectReference{Name: name.Name}
	s.create(&corev1.Secret{ObjectMeta: name, Type: metalv1.UserDataSecretType, StringData: map[string]string{"greeting": "hello of " + name.Name}}, c)
	eventually(s.t, "the claim is bound", func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		if c.Spec.ServerRef == nil {
			return errors.New("no server yet")
		}
		return nil
	})
	return name.Name, c.Spec.ServerRef.Name
}

// askFrom asks the boot server from an address of this host.
func (s *site) askFrom(from, path, flavor string) (int, string, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.boot()+path, nil)
	if err != nil {
		return 0, "", err
	}
	if flavor != "" {
		request.Header.Set("Metadata-Flavor", flavor)
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return answered(&http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, request)
}

func answered(by *http.Transport, request *http.Request) (int, string, error) {
	client := http.Client{Transport: by, Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// TestOperators: the operators' address knows the tokens of the API's service accounts, and what roles let them do.
func TestOperators(t *testing.T) {
	s := newSite(t)
	address := loopback.Free(t)
	m := launch(t, "first", append(s.args, "--operator-address", address)...)
	m.isReady()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "farrier-boots"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/boots/*"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "may"}},
	}
	s.create(role, binding)
	may, mayNot := s.token("may"), s.token("may-not")
	for _, c := range []struct {
		name, method, path, token string
		status                    int
	}{
		{"allowed, and nothing is recorded", http.MethodGet, "/boots/" + bootedUUID, may, 404},
		{"another path", http.MethodGet, "/systems/" + bootedUUID, may, 403},
		{"another verb", http.MethodDelete, "/delete/" + bootedUUID, may, 403},
		{"no rights", http.MethodGet, "/boots/" + bootedUUID, mayNot, 403},
		{"no token", http.MethodGet, "/boots/" + bootedUUID, "", 401},
		{"no token of this API", http.MethodGet, "/boots/" + bootedUUID, may + "x", 401},
	} {
		eventually(t, c.name, func() error { // the API learns of roles by watching
			request, err := http.NewRequestWithContext(t.Context(), c.method, "https://"+address+c.path, nil)
			if err != nil {
				return err
			}
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			// Its certificate is made at its start, and signed by nobody.
			status, body, err := answered(&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, request)
			if err == nil && status != c.status {
				err = fmt.Errorf("%d %q, want %d", status, body, c.status)
			}
			return err
		})
	}
	m.stop()
}

// token makes a service account and returns a token of it.
func (s *site) token(name string) string {
	s.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.create(account)
	return s.tokenOf(account)
}

// tokenOf asks the API for a token of a service account.
func (s *site) tokenOf(account *corev1.ServiceAccount) string {
	s.t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := s.SubResource("token").Create(s.t.Context(), account, request); err != nil {
		s.t.Fatal(err)
	}
	return request.Status.Token
}
