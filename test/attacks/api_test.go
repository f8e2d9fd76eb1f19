package attacks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/api"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/test/lab"
)

// What config/tenant calls the tenant of its sample, and the label that sets servers apart.
const (
	apiTenantNamespace = "tenant-blue"
	apiTenantGroup     = "tenant-blue"
	apiTenantLabel     = "farrier.dev/tenant"
)

// apiClient is a client of the Kubernetes API as whoever a configuration says.
func apiClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apiTenant applies config/tenant, as an operator does, and returns a client of the tenant with a certificate of his own, once he may
// do what he may.
func apiTenant(t *testing.T, p *lab.Running, dataDir string) client.Client {
	t.Helper()
	objects, err := config.Tenant()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := p.Create(t.Context(), object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	tenant := apiClient(t, apiSigned(t, p.Kubeconfig, dataDir, apiYear, "eve", apiTenantGroup))
	p.Eventually("the tenant may", func(ctx context.Context) error {
		return tenant.List(ctx, &metalv1.ServerClaimList{}, client.InNamespace(apiTenantNamespace))
	})
	p.Eventually("his quotas are counted", func(ctx context.Context) error { return apiCounted(ctx, p) })
	return tenant
}

// apiCounted fails until what the tenant has of each of his quotas is known. Before that the API refuses whatever a quota is about.
func apiCounted(ctx context.Context, p *lab.Running) error {
	var quotas corev1.ResourceQuotaList
	if err := p.List(ctx, &quotas, client.InNamespace(apiTenantNamespace)); err != nil {
		return err
	}
	for _, quota := range quotas.Items {
		for what := range quota.Spec.Hard {
			if _, known := quota.Status.Used[what]; !known {
				return fmt.Errorf("quota %s: %s is not counted yet", quota.Name, what)
			}
		}
	}
	return nil
}

func apiMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: apiTenantNamespace, Name: name}
}

// apiClaim is a claim in the tenant's namespace that is switched off: what matters is who gets what.
func apiClaim(name string, change ...func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: apiMeta(name)}
	c.Spec.Power, c.Spec.Image = metalv1.PowerOff, "registry.example/os:1"
	c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{apiTenantLabel: "blue"}}
	for _, f := range change {
		f(c)
	}
	return c
}

func apiSelecting(labels map[string]string) func(*metalv1.ServerClaim) {
	return func(c *metalv1.ServerClaim) {
		c.Spec.ServerSelector = nil
		if labels != nil {
			c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
	}
}

func apiNaming(server string) func(*metalv1.ServerClaim) {
	return func(c *metalv1.ServerClaim) { c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server} }
}

// TestATenantMayWhatHisRoleSays tries as a tenant whatever would be worth it. On the code before he held up the deletion of a Server by having an
// object that is owned by it.
func TestATenantMayWhatHisRoleSays(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	l.Discover(p)
	tenant, server := apiTenant(t, p, l.DataDir), l.BMCs()[0].Name+"-system-0"
	var victim metalv1.Server
	if err := p.Get(t.Context(), client.ObjectKey{Name: server}, &victim); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"}, StringData: map[string]string{"a": "b"}}
	if err := p.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}

	own := &corev1.Secret{ObjectMeta: apiMeta("own"), StringData: map[string]string{"a": "b"}}
	for what, err := range map[string]error{
		"write a Secret of his":           tenant.Create(t.Context(), own),
		"read Secrets of his":             tenant.List(t.Context(), &corev1.SecretList{}, client.InNamespace(apiTenantNamespace)),
		"claim":                           tenant.Create(t.Context(), apiClaim("own")),
		"read boot configurations of his": tenant.List(t.Context(), &metalv1.ServerBootConfigurationList{}, client.InNamespace(apiTenantNamespace)),
		"read his quota":                  tenant.List(t.Context(), &corev1.ResourceQuotaList{}, client.InNamespace(apiTenantNamespace)),
		"unclaim":                         tenant.Delete(t.Context(), apiClaim("own")),
	} {
		if err != nil {
			t.Errorf("he may not %s: %v", what, err)
		}
	}

	relabel := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"farrier.dev/tenant":"blue"}}}`))
	block := true
	owned := func(controller string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apiTenantNamespace, Name: controller, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: metalv1.GroupVersion.String(), Kind: "Server", Name: victim.Name, UID: victim.UID, BlockOwnerDeletion: &block,
		}}}}
	}
	admins := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	everything := []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	eve := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: apiTenantGroup}}
	for what, err := range map[string]error{
		"read a Secret of another namespace": tenant.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}),
		"list everybody's Secrets":           tenant.List(t.Context(), &corev1.SecretList{}),
		"list everybody's claims":            tenant.List(t.Context(), &metalv1.ServerClaimList{}),
		"read what Farrier keeps":            tenant.List(t.Context(), &corev1.SecretList{}, client.InNamespace("farrier-system")),
		"label a Server as his":              tenant.Patch(t.Context(), victim.DeepCopy(), relabel),
		"delete a Server":                    tenant.Delete(t.Context(), &victim),
		"write the status of a Server":       tenant.Status().Patch(t.Context(), victim.DeepCopy(), relabel),
		"read the credentials of BMCs":       tenant.List(t.Context(), &metalv1.BMCSecretList{}),
		"make a BMC":                         tenant.Create(t.Context(), &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "eve"}}),
		"make an Endpoint":                   tenant.Create(t.Context(), &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: "eve"}}),
		"say what a machine boots":           tenant.Create(t.Context(), &metalv1.ServerBootConfiguration{ObjectMeta: apiMeta("eve")}),
		"say what any machine boots":         tenant.Create(t.Context(), &ipxev1.Assignment{ObjectMeta: apiMeta("eve")}),
		"maintain a Server":                  tenant.Create(t.Context(), &metalv1.ServerMaintenance{ObjectMeta: apiMeta("eve")}),
		"be another tenant by a label":       tenant.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: apiTenantNamespace}}, relabel),
		"take his quota away":                tenant.DeleteAllOf(t.Context(), &corev1.ResourceQuota{}, client.InNamespace(apiTenantNamespace)),
		"make himself administrator":         tenant.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "eve"}, RoleRef: admins, Subjects: eve}),
		"bind more in his namespace":         tenant.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: apiMeta("eve"), RoleRef: admins, Subjects: eve}),
		"make a greater role":                tenant.Create(t.Context(), &rbacv1.Role{ObjectMeta: apiMeta("eve"), Rules: everything}),
		"add to his own role":                tenant.Update(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "farrier-tenant"}, Rules: everything}),
		"ask for a certificate":              tenant.Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "eve"}}),
		"approve a certificate":              tenant.SubResource("approval").Update(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "eve"}}),
		"make a service account":             tenant.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: apiMeta("eve")}),
		"hold up the deletion of a Server":   tenant.Create(t.Context(), owned("held")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("he may %s: %v, want it forbidden", what, err)
		}
	}
	as := apiSigned(t, p.Kubeconfig, l.DataDir, apiYear, "eve", apiTenantGroup)
	as.Impersonate = rest.ImpersonationConfig{UserName: "root", Groups: []string{"system:masters"}}
	if err := apiClient(t, as).List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("he may be somebody else: %v", err)
	}
	// His own objects may be owned by what he made, and by anything that this does not hold up.
	block = false
	if err := tenant.Create(t.Context(), owned("harmless")); err != nil {
		t.Errorf("an owner that is not held up: %v", err)
	}
	p.ServerIs(server, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestATenantClaimsOnlyHisServers: one server is the tenant's, the other somebody else's. Nothing he can write gets him that.
func TestATenantClaimsOnlyHisServers(t *testing.T) {
	l := lab.New(t, 2)
	p := l.Up(t)
	l.Discover(p)
	his, another := l.BMCs()[0].Name+"-system-0", l.BMCs()[1].Name+"-system-0"
	for server, owner := range map[string]string{his: "blue", another: "red"} {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, apiTenantLabel, owner))
		if err := p.Patch(t.Context(), &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: server}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	tenant := apiTenant(t, p, l.DataDir)
	p.Eventually("the policy is in force", func(ctx context.Context) error {
		if err := tenant.Create(ctx, apiClaim("any", apiSelecting(nil)), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a claim of any server: %w", err)
		}
		return nil
	})
	for what, change := range map[string][]func(*metalv1.ServerClaim){
		"any server":                       {apiSelecting(nil)},
		"the servers of another":           {apiSelecting(map[string]string{apiTenantLabel: "red"})},
		"a server by its name":             {apiSelecting(nil), apiNaming(another)},
		"a server by name, and other ones": {apiSelecting(map[string]string{"size": "large"}), apiNaming(another)},
		"all servers but his": {func(c *metalv1.ServerClaim) {
			c.Spec.ServerSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: apiTenantLabel, Operator: metav1.LabelSelectorOpExists}}}
		}},
	} {
		if err := tenant.Create(t.Context(), apiClaim("claim", change...)); !apierrors.IsForbidden(err) {
			t.Errorf("he claims %s: %v, want it forbidden", what, err)
		}
	}

	// With the right selector and the wrong name he gets neither: both have to fit.
	if err := errors.Join(tenant.Create(t.Context(), apiClaim("greedy", apiNaming(another))), tenant.Create(t.Context(), apiClaim("modest"))); err != nil {
		t.Fatal(err)
	}
	var modest, greedy metalv1.ServerClaim
	p.Eventually("his own server is his", func(ctx context.Context) error {
		if err := tenant.Get(ctx, client.ObjectKeyFromObject(apiClaim("modest")), &modest); err != nil {
			return err
		}
		if modest.Spec.ServerRef == nil || modest.Spec.ServerRef.Name != his {
			return fmt.Errorf("it has %v", modest.Spec.ServerRef)
		}
		return nil
	})
	if err := tenant.Get(t.Context(), client.ObjectKeyFromObject(apiClaim("greedy")), &greedy); err != nil || greedy.Status.Phase == metalv1.ServerClaimPhaseBound {
		t.Errorf("the claim of the server of another is %s (%v)", greedy.Status.Phase, err)
	}
	p.ServerIs(another, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	// What he has stays his to use, though a controller has written the server into it.
	modest.Spec.Power = metalv1.PowerOn
	if err := tenant.Update(t.Context(), &modest); err != nil {
		p.Eventually("he uses what he has", func(ctx context.Context) error {
			if err := tenant.Get(ctx, client.ObjectKeyFromObject(&modest), &modest); err != nil {
				return err
			}
			modest.Spec.Power = metalv1.PowerOn
			return tenant.Update(ctx, &modest)
		})
	}
}

// TestQuotasAreEnforced floods the API as a tenant whose quota is small. On the code before the quota was stored and never counted.
func TestQuotasAreEnforced(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir)
	tenant := apiTenant(t, p, dir)
	quota := &corev1.ResourceQuota{ObjectMeta: apiMeta("tenant")}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hard":{"count/serverclaims.metal.ironcore.dev":"3","secrets":"2"}}}`))
	if err := p.Patch(t.Context(), quota, patch); err != nil {
		t.Fatal(err)
	}
	used := func(name corev1.ResourceName) string {
		amount := quota.Status.Used[name]
		return amount.String()
	}
	counted := func(claims, secrets string) {
		t.Helper()
		p.Eventually("the quota is counted", func(ctx context.Context) error {
			if err := p.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			hard := quota.Status.Hard["count/serverclaims.metal.ironcore.dev"]
			if got := used("count/serverclaims.metal.ironcore.dev"); hard.String() != "3" || got != claims || used("secrets") != secrets {
				return fmt.Errorf("%s claims, want %s; %s Secrets, want %s; of %v", got, claims, used("secrets"), secrets, quota.Status.Hard)
			}
			return nil
		})
	}
	counted("0", "0")

	// flood asks forty at once, and then one by one until there is no more to be had.
	flood := func(limit int, list client.ObjectList, object func(i int) client.Object) {
		t.Helper()
		full := func(err error) bool {
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
		}
		p.Eventually("there is something to be had", func(ctx context.Context) error { return tenant.Create(ctx, object(-1), client.DryRunAll) })
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if err := tenant.Create(t.Context(), object(i)); err != nil && !full(err) && !apierrors.IsConflict(err) {
					t.Errorf("refused in another way: %v", err)
				}
			})
		}
		all.Wait()
		more := 40
		p.Eventually("there is no more to be had", func(ctx context.Context) error {
			if more++; full(tenant.Create(ctx, object(more))) {
				return nil
			}
			return errors.New("there is")
		})
		if err := tenant.List(t.Context(), list, client.InNamespace(apiTenantNamespace)); err != nil || apimeta.LenList(list) != limit {
			t.Errorf("%d were admitted of a quota of %d (%v)", apimeta.LenList(list), limit, err)
		}
	}
	flood(3, &metalv1.ServerClaimList{}, func(i int) client.Object { return apiClaim(fmt.Sprintf("c%d", i+1)) })
	flood(2, &corev1.SecretList{}, func(i int) client.Object { return &corev1.Secret{ObjectMeta: apiMeta(fmt.Sprintf("s%d", i+1))} })
	counted("3", "2")
	if err := tenant.DeleteAllOf(t.Context(), &metalv1.ServerClaim{}, client.InNamespace(apiTenantNamespace)); err != nil {
		t.Fatal(err)
	}
	counted("0", "2")
	p.Eventually("what was given back can be had again", func(ctx context.Context) error { return tenant.Create(ctx, apiClaim("again")) })
	if err := p.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}); err != nil {
		t.Errorf("another namespace: %v", err)
	}
}

// TestBadNamesAreTheSendersFault names what no object can be called. On the code before that was 503, which clients try again.
func TestBadNamesAreTheSendersFault(t *testing.T) {
	dir := apiData(t)
	p := lab.Start(t, dir)
	tenant := apiTenant(t, p, dir)
	ref := func(name string) *metalv1.LocalObjectReference { return &metalv1.LocalObjectReference{Name: name} }
	for _, name := range []string{"../x", "x/y", "..", "x%2fy", "a b", "A", "a\x00b", strings.Repeat("a", 300)} {
		for field, change := range map[string]func(*metalv1.ServerClaim){
			"spec.serverRef":         func(c *metalv1.ServerClaim) { c.Spec.ServerRef = ref(name) },
			"spec.ignitionSecretRef": func(c *metalv1.ServerClaim) { c.Spec.IgnitionSecretRef = ref(name) },
			"spec.userDataRef":       func(c *metalv1.ServerClaim) { c.Spec.UserDataRef = ref(name) },
			"image-pull-secret": func(c *metalv1.ServerClaim) {
				c.Annotations = map[string]string{metalv1.AnnotationImagePullSecret: name}
			},
		} {
			if err := tenant.Create(t.Context(), apiClaim("claim", change)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
				t.Errorf("%s %q: %v, want it invalid", field, name, err)
			}
		}
		if err := tenant.Create(t.Context(), apiClaim(name)); !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Errorf("a claim of the name %q: %v, want it invalid", name, err)
		}
	}
}
