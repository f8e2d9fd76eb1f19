package charttest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// authority is what certs.secret.caBundle takes.
const authority = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// secretMode is the values of a certificate that the user makes.
const secretMode = "certs: {mode: secret, secret: {name: mine, caBundle: \"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\"}}\n"

// TestLint: what `helm lint --strict` says, but for the icon, which Farrier does not have.
func TestLint(t *testing.T) {
	for _, message := range lint.All(chartDir, map[string]any{"webhooks": map[string]any{"enabled": false}}, namespace, true).Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

// TestObjects says which objects there are by default, all in the namespace of the release or in none.
func TestObjects(t *testing.T) {
	objects := rendered(t, withCertManager, "")
	got := slices.DeleteFunc(names(objects), func(name string) bool { return strings.HasPrefix(name, "CustomResourceDefinition/") })
	want := []string{
		"Certificate/farrier-webhook", "ClusterRole/farrier-manager", "ClusterRole/farrier-manager-credentials", "ClusterRole/farrier-metrics-reader",
		"ClusterRoleBinding/farrier-manager",
		"ConfigMap/farrier-manager", "Deployment/farrier-manager", "Issuer/farrier-webhook", "MutatingWebhookConfiguration/farrier",
		"PodDisruptionBudget/farrier-manager", "Role/farrier-manager", "RoleBinding/farrier-manager", "Service/farrier-metrics", "Service/farrier-webhook",
		"ServiceAccount/farrier-manager", "ValidatingWebhookConfiguration/farrier",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, o := range objects {
		if o.GetNamespace() != "" && o.GetNamespace() != namespace {
			t.Errorf("%s is in the namespace %s", o.GetName(), o.GetNamespace())
		}
		if o.GetLabels()["app.kubernetes.io/part-of"] != "farrier" || o.GetLabels()["app.kubernetes.io/instance"] != "farrier" {
			t.Errorf("%s has the labels %v", o.GetName(), o.GetLabels())
		}
	}
}

// bare removes what the chart adds to an object of config/, and moves one of config/ into the namespace of the release.
func bare(o object) object {
	o = o.DeepCopyObject().(object)
	if o.GetNamespace() != "" {
		o.SetNamespace(namespace)
	}
	o.SetLabels(nil)
	switch o := o.(type) {
	case *rbacv1.ClusterRoleBinding:
		o.Subjects[0].Namespace = namespace
	case *rbacv1.RoleBinding:
		o.Subjects[0].Namespace = namespace
	case *admissionv1.MutatingWebhookConfiguration:
		o.Annotations = map[string]string{"cert-manager.io/inject-ca-from": namespace + "/farrier-webhook"}
		for i := range o.Webhooks {
			o.Webhooks[i].ClientConfig.Service.Namespace = namespace
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		o.Annotations = map[string]string{"cert-manager.io/inject-ca-from": namespace + "/farrier-webhook"}
		for i := range o.Webhooks {
			o.Webhooks[i].ClientConfig.Service.Namespace = namespace
		}
	}
	return o
}

// TestSameAsConfig: definitions, roles and webhooks are those of config/, but for the namespace. The chart leaves out the namespace, which is
// that of the release, and the role for --install-crds, which it refuses. It grants nothing that config/manager does not. The right to change webhook configurations is there for certs.mode=self alone.
func TestSameAsConfig(t *testing.T) {
	objects := rendered(t, withCertManager, "")
	key := func(o object) string { return o.GetObjectKind().GroupVersionKind().String() + " " + o.GetName() }
	of := map[string]object{}
	for _, o := range objects {
		of[key(o)] = o
	}
	known := map[string]bool{}
	for _, pattern := range []string{"crd/*.yaml", "manager/*.yaml", "webhook/*.yaml"} {
		for _, want := range ofConfig(t, pattern) {
			if _, isNamespace := want.(*corev1.Namespace); isNamespace || want.GetName() == "farrier-manager-crds" || want.GetName() == "farrier-manager-webhooks" {
				continue
			}
			known[key(want)] = true
			got, ok := of[key(want)]
			if !ok {
				t.Errorf("the chart lacks %s", key(want))
				continue
			}
			if _, isDefinition := got.(*apiextensionsv1.CustomResourceDefinition); isDefinition {
				if got.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
					t.Errorf("%s would be deleted with the release, and all objects with it", key(got))
				}
				delete(got.GetAnnotations(), "helm.sh/resource-policy")
			}
			if diff := cmp.Diff(bare(want), bare(got)); diff != "" {
				t.Errorf("%s, - config, + chart:\n%s", key(want), diff)
			}
		}
	}
	for k := range of {
		if strings.Contains(k, "rbac.authorization.k8s.io") && !known[k] {
			t.Errorf("%s is not of config/manager", k)
		}
	}
}

// TestCredentialNamespaces: a grant is a binding in that namespace, of the role that config/manager has for it.
func TestCredentialNamespaces(t *testing.T) {
	binding := one[*rbacv1.RoleBinding](t, rendered(t, withCertManager, "credentialNamespaces: [rack-1]"), "farrier-manager-credentials")
	if binding.Namespace != "rack-1" || binding.RoleRef.Name != "farrier-manager-credentials" || binding.Subjects[0].Namespace != namespace || binding.Subjects[0].Name != "farrier-manager" {
		t.Errorf("%+v", binding)
	}
}

// TestDeployment: replicas that survive a node, in pods that the strictest Pod Security Standard takes.
func TestDeployment(t *testing.T) {
	objects := rendered(t, withCertManager, "")
	deployment := one[*appsv1.Deployment](t, objects, "farrier-manager")
	spec := deployment.Spec.Template.Spec
	if *deployment.Spec.Replicas != 2 || len(spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Errorf("replicas %d, %v", *deployment.Spec.Replicas, spec.Affinity)
	}
	yes, no, user, mode := true, false, int64(65532), int32(0o440)
	if diff := cmp.Diff(&corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}, spec.SecurityContext); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}, spec.Containers[0].SecurityContext); diff != "" {
		t.Error(diff)
	}
	for _, volume := range spec.Volumes {
		if volume.Secret != nil && cmp.Diff(&mode, volume.Secret.DefaultMode) != "" {
			t.Errorf("volume %s: the manager refuses a key with mode %v", volume.Name, volume.Secret.DefaultMode)
		}
		if volume.Name == "data" && volume.EmptyDir.SizeLimit.String() != "12Gi" {
			t.Errorf("the cache may fill the node: %v", volume)
		}
	}
	ports := map[string]int32{}
	for _, port := range spec.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	for _, probe := range []*corev1.Probe{spec.Containers[0].LivenessProbe, spec.Containers[0].ReadinessProbe} {
		if ports[probe.HTTPGet.Port.StrVal] != 8081 {
			t.Errorf("a probe asks port %v of %v", probe.HTTPGet.Port, ports)
		}
	}
	if got := spec.Containers[0].Image; got != "ghcr.io/farrier-dev/farrier-manager:"+deployment.Labels["app.kubernetes.io/version"] {
		t.Errorf("image %s", got)
	}
	budget := one[*policyv1.PodDisruptionBudget](t, objects, "farrier-manager")
	for what, selector := range map[string]map[string]string{
		"the PodDisruptionBudget": budget.Spec.Selector.MatchLabels,
		"the Deployment":          deployment.Spec.Selector.MatchLabels,
		"the anti-affinity":       spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchLabels,
		"farrier-webhook":         one[*corev1.Service](t, objects, "farrier-webhook").Spec.Selector,
		"farrier-metrics":         one[*corev1.Service](t, objects, "farrier-metrics").Spec.Selector,
	} {
		for k, v := range selector {
			if deployment.Spec.Template.Labels[k] != v {
				t.Errorf("%s selects %s=%s, and the pods have %v", what, k, v, deployment.Spec.Template.Labels)
			}
		}
	}
}

// TestVariants: what else values can say.
func TestVariants(t *testing.T) {
	objects := rendered(t, plain, secretMode+`
replicas: 1
image: {digest: "sha256:`+strings.Repeat("0", 64)+`"}
data: {kind: claim, size: 50Gi, storageClassName: fast}
boot: {https: true, service: {enabled: true, annotations: {a: b}, httpPort: 80}}
mounts: [{name: bmc-ca, configMap: authorities}, {name: tls, secret: boot-tls}]
`)
	deployment := one[*appsv1.Deployment](t, objects, "farrier-manager")
	spec := deployment.Spec.Template.Spec
	if deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %s: the Service would lead machines to a manager that stands by", deployment.Spec.Strategy.Type)
	}
	if !strings.HasSuffix(spec.Containers[0].Image, "/farrier-manager@sha256:"+strings.Repeat("0", 64)) {
		t.Errorf("image %s", spec.Containers[0].Image)
	}
	volumes := map[string]corev1.Volume{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = volume
	}
	claim := volumes["data"].Ephemeral.VolumeClaimTemplate.Spec
	if *claim.StorageClassName != "fast" || claim.Resources.Requests.Storage().String() != "50Gi" {
		t.Errorf("%+v", claim)
	}
	if volumes["mount-bmc-ca"].ConfigMap.Name != "authorities" || volumes["mount-tls"].Secret.SecretName != "boot-tls" || *volumes["mount-tls"].Secret.DefaultMode != 0o440 {
		t.Errorf("%+v", volumes)
	}
	service := one[*corev1.Service](t, objects, "farrier-boot")
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || len(service.Spec.Ports) != 2 || service.Spec.Ports[0].Port != 80 {
		t.Errorf("%+v", service.Spec)
	}
	for _, name := range names(objects) {
		if strings.HasPrefix(name, "PodDisruptionBudget/") {
			t.Error("a budget for one manager keeps its node from being drained")
		}
	}
	if got := names(rendered(t, plain, "{webhooks: {enabled: false}, metrics: {enabled: false}, crds: {install: false}}")); slices.ContainsFunc(got, func(name string) bool {
		return strings.HasPrefix(name, "CustomResource") || strings.HasPrefix(name, "Service/") || strings.Contains(name, "Webhook")
	}) {
		t.Errorf("without webhooks, metrics and definitions: %v", got)
	}
}

// TestCertificates: each mode, and that the names are those that the API server asks for.
func TestCertificates(t *testing.T) {
	secretOf := func(objects []object) string {
		for _, volume := range one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template.Spec.Volumes {
			if volume.Name == "webhook" {
				return volume.Secret.SecretName
			}
		}
		return ""
	}
	for values, issuer := range map[string]string{
		"": "farrier-webhook Issuer", "certs: {mode: cert-manager, issuerRef: {name: corporate, kind: ClusterIssuer}}": "corporate ClusterIssuer",
	} {
		objects := rendered(t, withCertManager, values)
		certificate := one[*certmanagerv1.Certificate](t, objects, "farrier-webhook")
		if got := certificate.Spec.IssuerRef.Name + " " + certificate.Spec.IssuerRef.Kind; got != issuer {
			t.Errorf("%q: issuer %s, want %s", values, got, issuer)
		}
		service := one[*corev1.Service](t, objects, "farrier-webhook")
		if !slices.Contains(certificate.Spec.DNSNames, service.Name+"."+service.Namespace+".svc") {
			t.Errorf("%q: names %v", values, certificate.Spec.DNSNames)
		}
		if certificate.Spec.SecretName != secretOf(objects) {
			t.Errorf("%q: the pods mount %s", values, secretOf(objects))
		}
	}
	self := rendered(t, plain, "")
	if got := secretOf(self); got != "" {
		t.Errorf("the pods mount %s, which nobody makes", got)
	}
	if file := one[*corev1.ConfigMap](t, self, "farrier-manager").Data["farrier-manager.yaml"]; strings.Contains(file, "webhook-cert-file") || !strings.Contains(file, "webhook-address") {
		t.Errorf("the managers do not make the certificate:\n%s", file)
	}
	if c := one[*admissionv1.MutatingWebhookConfiguration](t, self, "farrier"); c.Annotations != nil || c.Webhooks[0].ClientConfig.CABundle != nil {
		t.Errorf("somebody else fills in the authority: %v", c)
	}
	role := one[*rbacv1.ClusterRole](t, self, "farrier-manager-webhooks")
	if binding := one[*rbacv1.ClusterRoleBinding](t, self, role.Name); binding.RoleRef.Name != role.Name || binding.Subjects[0].Namespace != namespace {
		t.Errorf("%+v", binding)
	}
	for _, values := range []string{"webhooks: {enabled: false}", secretMode, "certs: {mode: cert-manager}"} {
		if all := names(rendered(t, plain, values)); slices.Contains(all, "ClusterRole/"+role.Name) || slices.Contains(all, "ClusterRoleBinding/"+role.Name) {
			t.Errorf("%s: the manager may change webhook configurations", values)
		}
	}
	objects := rendered(t, plain, secretMode)
	if got := secretOf(objects); got != "mine" {
		t.Errorf("the pods mount %s", got)
	}
	configuration := one[*admissionv1.ValidatingWebhookConfiguration](t, objects, "farrier")
	if got := string(configuration.Webhooks[0].ClientConfig.CABundle); got != authority || configuration.Annotations != nil {
		t.Errorf("authority %q, annotations %v", got, configuration.Annotations)
	}
}

// TestReleaseFits: Helm keeps a release, chart and objects, in one Secret, of which etcd takes a megabyte and a half. Half is for growth.
func TestReleaseFits(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"chart": chart, "manifest": rendered(t, withCertManager, "")})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if size := base64.StdEncoding.EncodedLen(base64.StdEncoding.EncodedLen(packed.Len())); size > 512<<10 {
		t.Errorf("a release takes %d bytes", size)
	}
}

// TestChecksum: pods are replaced when the file changes that they read at their start only.
func TestChecksum(t *testing.T) {
	const annotation = "farrier.dev/config-checksum"
	checksum := func(values string) string {
		return one[*appsv1.Deployment](t, rendered(t, withCertManager, values), "farrier-manager").Spec.Template.Annotations[annotation]
	}
	if checksum("") == checksum("config: {power-off-budget: 10m}") || checksum("") != checksum("{image: {tag: other}, podAnnotations: {}}") {
		t.Error("the checksum does not follow the file")
	}
	if _, notes, err := render(withCertManager, ""); err != nil || !strings.Contains(notes, namespace) {
		t.Errorf("notes: %v\n%s", err, notes)
	}
}
