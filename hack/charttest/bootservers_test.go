package charttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"
)

// withBootServers are the values that boot servers need.
const withBootServers = "bootServers: {enabled: true}\nconfig: {boot-url: ['http://192.0.2.1:8082', 'north=http://192.0.2.2:8082']}\n"

// flagsOf are the flags of a file --config.
func flagsOf(t *testing.T, objects []object, name string) map[string]any {
	t.Helper()
	flags := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(one[*corev1.ConfigMap](t, objects, name).Data[name+".yaml"]), &flags); err != nil {
		t.Fatal(err)
	}
	return flags
}

// TestBootServers: managers and boot servers of the chart find each other, each shows a certificate for the name that the other expects, and both
// mount it.
func TestBootServers(t *testing.T) {
	objects := rendered(t, withCertManager, withBootServers)
	manager, boot := flagsOf(t, objects, "farrier-manager"), flagsOf(t, objects, "farrier-bootserver")
	stream := one[*corev1.Service](t, objects, "farrier-boot-stream")
	if got, want := boot["managers"], []any{stream.Name + "." + stream.Namespace + ".svc:8444"}; cmp.Diff(want, got) != "" {
		t.Errorf("boot servers look for managers at %v, want %v", got, want)
	}
	if got := manager["boot-stream-address"]; got != ":8444" || stream.Spec.Ports[0].Port != 8444 {
		t.Errorf("the manager listens at %v, and the Service has %v", got, stream.Spec.Ports)
	}
	ofManager, ofBootServers := one[*certmanagerv1.Certificate](t, objects, "farrier-boot-stream"), one[*certmanagerv1.Certificate](t, objects, "farrier-bootserver")
	if !slices.Equal(ofManager.Spec.DNSNames, []string{boot["manager-name"].(string)}) || !slices.Contains(ofManager.Spec.Usages, certmanagerv1.UsageServerAuth) {
		t.Errorf("the manager shows %v for %v, and boot servers expect %v", ofManager.Spec.DNSNames, ofManager.Spec.Usages, boot["manager-name"])
	}
	if got := manager["boot-servers"]; cmp.Diff([]any{ofBootServers.Spec.DNSNames[0]}, got) != "" || len(ofBootServers.Spec.DNSNames) != 1 || !slices.Contains(ofBootServers.Spec.Usages, certmanagerv1.UsageClientAuth) {
		t.Errorf("boot servers show %v for %v, and the table of the manager is %v", ofBootServers.Spec.DNSNames, ofBootServers.Spec.Usages, got)
	}
	if diff := cmp.Diff([]any{"http://192.0.2.1:8082"}, boot["boot-url"]); diff != "" {
		t.Errorf("boot URL, that of the site is wanted:\n%s", diff)
	}
	for name, secret := range map[string]string{"farrier-manager": ofManager.Spec.SecretName, "farrier-bootserver": ofBootServers.Spec.SecretName} {
		pod := one[*appsv1.Deployment](t, objects, name).Spec.Template.Spec
		at := flagsOf(t, objects, name)[map[string]string{"farrier-manager": "boot-stream-certificates-dir", "farrier-bootserver": "certificates-dir"}[name]]
		if got := secretAt(pod, at.(string)); got != secret {
			t.Errorf("%s mounts the Secret %q at %v, want %q", name, got, at, secret)
		}
	}
}

// secretAt is the Secret that a container mounts at a path, with a mode that Farrier takes for keys.
func secretAt(pod corev1.PodSpec, path string) string {
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == path && volume.Name == mount.Name && volume.Secret != nil && *volume.Secret.DefaultMode == 0o440 {
				return volume.Secret.SecretName
			}
		}
	}
	return ""
}

// TestPodsOfBootServers: no right in Kubernetes, no right on the node, probes that a boot server answers, and Services that lead there.
func TestPodsOfBootServers(t *testing.T) {
	objects := rendered(t, withCertManager, withBootServers)
	deployment := one[*appsv1.Deployment](t, objects, "farrier-bootserver")
	pod := deployment.Spec.Template.Spec
	if *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "farrier-bootserver" || pod.HostNetwork {
		t.Errorf("token %v, account %s, host network %v", *pod.AutomountServiceAccountToken, pod.ServiceAccountName, pod.HostNetwork)
	}
	manager := one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template.Spec
	if diff := cmp.Diff(manager.SecurityContext, pod.SecurityContext) + cmp.Diff(manager.Containers[0].SecurityContext, pod.Containers[0].SecurityContext); diff != "" {
		t.Errorf("- manager, + boot server:\n%s", diff)
	}
	ports := map[string]int32{}
	for _, port := range pod.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	if pod.Containers[0].ReadinessProbe.HTTPGet.Path != "/readyz" || ports[pod.Containers[0].ReadinessProbe.HTTPGet.Port.StrVal] != 8081 {
		t.Errorf("%+v", pod.Containers[0].ReadinessProbe.HTTPGet)
	}
	service := one[*corev1.Service](t, objects, "farrier-bootserver")
	if s := service.Spec; s.ExternalTrafficPolicy != "Local" || s.SessionAffinity != "ClientIP" || s.Type != "LoadBalancer" || ports[s.Ports[0].TargetPort.StrVal] != 8082 {
		t.Errorf("%+v", s)
	}
	for k, v := range service.Spec.Selector {
		if deployment.Spec.Template.Labels[k] != v {
			t.Errorf("the Service selects %s=%s, and the pods have %v", k, v, deployment.Spec.Template.Labels)
		}
	}
	if webhooks := one[*corev1.Service](t, objects, "farrier-webhook").Spec.Selector["app.kubernetes.io/name"]; deployment.Spec.Template.Labels["app.kubernetes.io/name"] == webhooks {
		t.Error("the API server would ask boot servers")
	}
}

// TestBootServersOnNodes: a DaemonSet on the network of the nodes, with DHCP.
func TestBootServersOnNodes(t *testing.T) {
	objects := rendered(t, withCertManager, withBootServers+`
bootStream: {joinSecret: authority, service: {type: LoadBalancer, loadBalancerClass: hall}}
`+"bootServers: "+`{enabled: true, kind: DaemonSet, site: north, hostNetwork: true, config: {dhcp: proxy, dhcp-interface: [eth1]}, nodeSelector: {provisioning: "yes"},
  ports: {http: 80, metrics: 9443}, service: {enabled: false}, tlsSecret: tls, viewKeySecret: key, mounts: [{name: programs, configMap: ipxe}], metrics: {enabled: true}}
`)
	pod := one[*appsv1.DaemonSet](t, objects, "farrier-bootserver").Spec.Template.Spec
	if !pod.HostNetwork || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || pod.NodeSelector["provisioning"] != "yes" {
		t.Errorf("%+v", pod)
	}
	c := pod.Containers[0].SecurityContext
	if *pod.SecurityContext.RunAsUser != 0 || cmp.Diff([]corev1.Capability{"NET_BIND_SERVICE", "NET_RAW"}, c.Capabilities.Add) != "" || cmp.Diff([]corev1.Capability{"ALL"}, c.Capabilities.Drop) != "" || *c.AllowPrivilegeEscalation {
		t.Errorf("DHCP runs as %v with %v", *pod.SecurityContext.RunAsUser, c)
	}
	flags := flagsOf(t, objects, "farrier-bootserver")
	for flag, want := range map[string]any{
		"boot-address": ":80", "boot-tls-address": ":8083", "metrics-address": ":9443", "view-key-file": "/etc/farrier/view-key/view.key", "boot-url": []any{"http://192.0.2.2:8082"},
	} {
		if diff := cmp.Diff(want, flags[flag]); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
	if got := secretAt(pod, filepath.Dir(flags["boot-tls-key-file"].(string))) + " " + secretAt(pod, filepath.Dir(flags["view-key-file"].(string))); got != "tls key" {
		t.Errorf("Secrets %s", got)
	}
	manager := flagsOf(t, objects, "farrier-manager")
	if diff := cmp.Diff([]any{"farrier-bootserver." + namespace + ".svc=north"}, manager["boot-servers"]); diff != "" {
		t.Error(diff)
	}
	if got := secretAt(one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template.Spec, manager["boot-stream-authority-dir"].(string)); got != "authority" {
		t.Errorf("authority %q", got)
	}
	if s := one[*corev1.Service](t, objects, "farrier-boot-stream").Spec; len(s.Ports) != 2 || *s.LoadBalancerClass != "hall" {
		t.Errorf("%+v", s)
	}
	for _, name := range names(objects) {
		if name == "Service/farrier-bootserver" || name == "Deployment/farrier-bootserver" || name == "PodDisruptionBudget/farrier-bootserver" {
			t.Errorf("there is %s", name)
		}
	}
}

// TestSecretsOfBootServers: without cert-manager the user makes the certificates; other boot servers stay in the table.
func TestSecretsOfBootServers(t *testing.T) {
	objects := rendered(t, plain, secretMode+`
bootStream: {certs: {mode: secret, managerSecret: of-manager, bootServersSecret: of-boot-servers}}
bootServers: {enabled: true, replicas: 1, data: {kind: existing, claimName: leases}}
config: {boot-servers: [boot-1.north.example=north], boot-url: 'http://192.0.2.1'}
`)
	pod := one[*appsv1.Deployment](t, objects, "farrier-bootserver").Spec.Template.Spec
	if got := secretAt(pod, "/etc/farrier/boot-stream"); got != "of-boot-servers" {
		t.Errorf("boot servers mount %q", got)
	}
	if got := pod.Volumes[0].PersistentVolumeClaim; got == nil || got.ClaimName != "leases" {
		t.Errorf("%+v", pod.Volumes[0])
	}
	if got := secretAt(one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template.Spec, "/etc/farrier/boot-stream"); got != "of-manager" {
		t.Errorf("the manager mounts %q", got)
	}
	if diff := cmp.Diff([]any{"farrier-bootserver." + namespace + ".svc", "boot-1.north.example=north"}, flagsOf(t, objects, "farrier-manager")["boot-servers"]); diff != "" {
		t.Error(diff)
	}
	if got := flagsOf(t, objects, "farrier-bootserver")["boot-url"]; cmp.Diff([]any{"http://192.0.2.1"}, got) != "" {
		t.Errorf("boot URL %v", got)
	}
	if slices.ContainsFunc(names(objects), func(name string) bool {
		return strings.HasPrefix(name, "Certificate/") || strings.HasPrefix(name, "Issuer/")
	}) {
		t.Errorf("objects of cert-manager without it: %v", names(objects))
	}
}

// shared are flags that managers and boot servers have to agree on. Each of them has a value that is not the default.
const shared = `
allowed-registries: [registry.example.org]
registry-mirrors: [ghcr.io=mirror.example.org]
plain-http-registries: [mirror.example.org]
allowed-registry-networks: [192.0.2.0/24]
image-server-url: "http://192.0.2.9"
require-signed-images: false
image-signature-keys: []
no-assignment: 404
ignition-access: token
boot-identity: token
boot-secrets-deadline: 30m
boot-secrets-need-tls: false
allow-unauthenticated-probe: false
trusted-forwarders: [none]
metadata: true
`

// TestTheBootServerTakesTheFile: what decides about machines is the same at both ends, values of boot servers win, and the built farrier-bootserver takes
// every flag.
func TestTheBootServerTakesTheFile(t *testing.T) {
	objects := rendered(t, withCertManager, withBootServers+"bootServers: {enabled: true, tlsSecret: tls, config: {boot-identity: mac, image-cache-size: 10737418240}}\nconfig:"+
		strings.ReplaceAll("\nboot-url: ['http://192.0.2.1:8082']"+shared, "\n", "\n  "))
	file := one[*corev1.ConfigMap](t, objects, "farrier-bootserver").Data["farrier-bootserver.yaml"]
	flags, want := flagsOf(t, objects, "farrier-bootserver"), map[string]any{}
	if err := yaml.Unmarshal([]byte(shared), &want); err != nil {
		t.Fatal(err)
	}
	want["boot-identity"] = "mac"
	for flag, value := range want {
		if diff := cmp.Diff(value, flags[flag]); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
	if !strings.Contains(file, "image-cache-size: 10737418240\n") && !strings.HasSuffix(file, "image-cache-size: 10737418240") {
		t.Errorf("a large number has become another one:\n%s", file)
	}
	manager, boot := help(t, "FARRIER_TEST_MANAGER"), help(t, "FARRIER_TEST_BOOTSERVER")
	for flag := range flags {
		if !strings.Contains(boot, "--"+flag+" ") {
			t.Errorf("farrier-bootserver --help does not have --%s", flag)
		}
		if _, both := want[flag]; both && !strings.Contains(manager, "--"+flag+" ") {
			t.Errorf("farrier-manager --help does not have --%s", flag)
		}
	}
	if out := started(t, "FARRIER_TEST_BOOTSERVER", file); strings.Contains(out, "--config:") || !strings.Contains(out, "--certificates-dir:") && !strings.Contains(out, "--data-dir:") {
		t.Errorf("the boot server refuses the file: %s\n%s", out, file)
	}
	if out := started(t, "FARRIER_TEST_BOOTSERVER", file+"\nno-such-flag: 1\n"); !strings.Contains(out, "--config:") {
		t.Errorf("the boot server takes any file, so this test proves nothing: %s", out)
	}
}

// started runs a program with a file of flags; help returns its help. Both skip the test where the variable names no program.
func started(t *testing.T, variable, file string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return ran(t, variable, "--config", path)
}

func help(t *testing.T, variable string) string {
	t.Helper()
	return ran(t, variable, "--help")
}
