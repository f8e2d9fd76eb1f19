package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const monitored = `
metrics: {readers: [{namespace: monitoring, serviceAccount: prometheus}], serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 15s}, rules: {enabled: true, labels: {release: prometheus}}}
dashboard: {enabled: true, namespace: grafana, annotations: {folder: Machines}}
bootServers: {enabled: true, metrics: {enabled: true}}
`

// TestMonitoring: Prometheus finds the Service of the managers under the job that alerts name, and the pods of boot servers; it is allowed to read the former
// and shows the latter a certificate that they take.
func TestMonitoring(t *testing.T) {
	objects := rendered(t, withPrometheus, monitored)
	monitor, service := one[*monitoringv1.ServiceMonitor](t, objects, "farrier-manager"), one[*corev1.Service](t, objects, "farrier-metrics")
	chosen := 0
	for _, o := range objects {
		if s, ok := o.(*corev1.Service); ok && matches(t, &monitor.Spec.Selector, s.Labels) {
			chosen++
		}
	}
	if chosen != 1 || !matches(t, &monitor.Spec.Selector, service.Labels) || monitor.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name || monitor.Labels["release"] != "prometheus" || monitor.Spec.Endpoints[0].Interval != "15s" {
		t.Errorf("the ServiceMonitor chooses %d Services: %+v", chosen, monitor.Spec)
	}
	rules, err := os.ReadFile(filepath.Join(monitoringDir, "rules.yaml"))
	if err != nil || service.Name != "farrier-metrics" || !strings.Contains(string(rules), `job="`+service.Name+`"`) {
		t.Errorf("the job of managers is the name of the Service, %s (%v)", service.Name, err)
	}
	binding := one[*rbacv1.ClusterRoleBinding](t, objects, "farrier-metrics-readers")
	role := one[*rbacv1.ClusterRole](t, objects, binding.RoleRef.Name)
	if diff := cmp.Diff([]rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules); diff != "" || binding.Subjects[0].Namespace != "monitoring" || binding.Subjects[0].Name != "prometheus" {
		t.Errorf("%+v\n%s", binding.Subjects, diff)
	}

	pods := one[*monitoringv1.PodMonitor](t, objects, "farrier-bootserver")
	pod := one[*appsv1.Deployment](t, objects, "farrier-bootserver").Spec.Template
	endpoint := pods.Spec.PodMetricsEndpoints[0]
	if !matches(t, &pods.Spec.Selector, pod.Labels) || *endpoint.Port != "metrics" {
		t.Errorf("%+v", pods.Spec)
	}
	server, client := one[*certmanagerv1.Certificate](t, objects, "farrier-bootserver-metrics").Spec, one[*certmanagerv1.Certificate](t, objects, "farrier-metrics-client").Spec
	stream := one[*certmanagerv1.Certificate](t, objects, "farrier-bootserver").Spec
	if *endpoint.TLSConfig.ServerName != server.DNSNames[0] || endpoint.TLSConfig.CA.Secret.Name != server.SecretName || endpoint.TLSConfig.Cert.Secret.Name != client.SecretName || endpoint.TLSConfig.KeySecret.Name != client.SecretName {
		t.Errorf("%+v", endpoint.TLSConfig)
	}
	if server.IssuerRef != client.IssuerRef || server.IssuerRef.Name == stream.IssuerRef.Name {
		t.Errorf("issuers: %v for metrics, %v for clients, %v for the boot stream, which may give none to others", server.IssuerRef, client.IssuerRef, stream.IssuerRef)
	}
	if got := secretAt(pod.Spec, filepath.Dir(flagsOf(t, objects, "farrier-bootserver")["metrics-client-ca-file"].(string))); got != server.SecretName {
		t.Errorf("boot servers mount %q, want %q", got, server.SecretName)
	}
}

// matches reports whether a selector chooses what has the labels.
func matches(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

// TestFilesAsTheyAre: rules and dashboard arrive in the cluster as config/monitoring has them.
func TestFilesAsTheyAre(t *testing.T) {
	objects := rendered(t, withPrometheus, monitored)
	got := one[*monitoringv1.PrometheusRule](t, objects, "farrier")
	for i, group := range ruleGroups(t) {
		for j, want := range group.Rules {
			r := got.Spec.Groups[i].Rules[j]
			if r.Expr.StrVal != want.Expr || r.Alert != want.Alert || cmp.Diff(want.Annotations, r.Annotations) != "" || cmp.Diff(want.Labels, r.Labels) != "" {
				t.Errorf("%s has become %+v", want.Alert, r)
			}
		}
	}
	dashboard, err := os.ReadFile(filepath.Join(monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := one[*corev1.ConfigMap](t, objects, "farrier-dashboard")
	if strings.TrimSpace(c.Data["farrier.json"]) != strings.TrimSpace(string(dashboard)) || c.Namespace != "grafana" || c.Labels["grafana_dashboard"] != "1" || c.Annotations["folder"] != "Machines" {
		t.Errorf("%s/%s %v %v", c.Namespace, c.Name, c.Labels, c.Annotations)
	}
}
