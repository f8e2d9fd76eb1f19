package charttest

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// open says from where each port of a pod can be reached: "all", or the number of peers.
func open(t *testing.T, policy *networkingv1.NetworkPolicy, pod corev1.PodTemplateSpec) map[string]string {
	t.Helper()
	if !matches(t, &policy.Spec.PodSelector, pod.Labels) {
		t.Errorf("%s does not choose its pods: %v", policy.Name, pod.Labels)
	}
	named := map[string]bool{}
	for _, port := range pod.Spec.Containers[0].Ports {
		named[port.Name] = true
	}
	ports := map[string]string{}
	for _, rule := range policy.Spec.Ingress {
		var from []string
		for _, peer := range rule.From {
			switch {
			case peer.IPBlock != nil:
				from = append(from, peer.IPBlock.CIDR)
			case peer.NamespaceSelector != nil:
				from = append(from, "namespaces "+strings.Trim(peer.NamespaceSelector.String(), "&"))
			default:
				from = append(from, "pods "+peer.PodSelector.MatchLabels["app.kubernetes.io/name"])
			}
		}
		for _, port := range rule.Ports {
			if !named[port.Port.StrVal] {
				t.Errorf("%s opens %v, which the pods do not have: %v", policy.Name, port.Port, named)
			}
			if len(from) == 0 {
				from = []string{"all"}
			}
			ports[port.Port.StrVal] += strings.Join(from, " ") + ";"
		}
	}
	return ports
}

// TestNetworkPolicies: who reaches which port.
func TestNetworkPolicies(t *testing.T) {
	const anywhere = "namespaces LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},};"
	for name, test := range map[string]struct {
		values        string
		manager, boot map[string]string
	}{
		"managers alone": {"networkPolicy: {enabled: true}", map[string]string{"webhook": "all;", "metrics": anywhere}, nil},
		"one manager for machines": {
			"networkPolicy: {enabled: true, machines: [192.0.2.0/24]}\nreplicas: 1\nboot: {https: true, service: {enabled: true}}\nwebhooks: {enabled: false}\nmetrics: {enabled: false}",
			map[string]string{"boot": "192.0.2.0/24;", "boot-tls": "192.0.2.0/24;"}, nil,
		},
		"boot servers": {
			"networkPolicy: {enabled: true, machines: ['2001:db8::/32'], scrapers: {a: b}}\nbootServers: {enabled: true, tlsSecret: tls, metrics: {enabled: true}}",
			map[string]string{"webhook": "all;", "metrics": strings.Replace(anywhere, "{},M", "{a: b,},M", 1), "boot-stream": "pods farrier-bootserver;"},
			map[string]string{"boot": "2001:db8::/32;", "boot-tls": "2001:db8::/32;", "metrics": strings.Replace(anywhere, "{},M", "{a: b,},M", 1)},
		},
		"boot servers on nodes": {
			"networkPolicy: {enabled: true, bootStream: [192.0.2.0/24]}\nbootServers: {enabled: true, hostNetwork: true}",
			map[string]string{"webhook": "all;", "metrics": anywhere, "boot-stream": "192.0.2.0/24;"}, nil,
		},
		"boot servers elsewhere": {
			"networkPolicy: {enabled: true}\nbootStream: {enabled: true, joinSecret: authority}",
			map[string]string{"webhook": "all;", "metrics": anywhere, "boot-stream": "all;", "boot-join": "all;"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := rendered(t, withCertManager, test.values)
			got := open(t, one[*networkingv1.NetworkPolicy](t, objects, "farrier-manager"), one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template)
			compare(t, "manager", test.manager, got)
			if test.boot == nil {
				if slices.Contains(names(objects), "NetworkPolicy/farrier-bootserver") {
					t.Error("a policy for pods that are not there, or that have the network of the node")
				}
				return
			}
			got = open(t, one[*networkingv1.NetworkPolicy](t, objects, "farrier-bootserver"), one[*appsv1.Deployment](t, objects, "farrier-bootserver").Spec.Template)
			compare(t, "boot server", test.boot, got)
		})
	}
}

func compare(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for port := range want {
		if want[port] != got[port] {
			t.Errorf("%s: port %s is open to %q, want %q", what, port, got[port], want[port])
		}
	}
	for port := range got {
		if _, known := want[port]; !known {
			t.Errorf("%s: port %s is open to %q", what, port, got[port])
		}
	}
}

// TestEgress: without networks everything is open; with networks those, DNS, and for boot servers the managers.
func TestEgress(t *testing.T) {
	objects := rendered(t, withCertManager, "networkPolicy: {enabled: true, manager: {egressCIDRs: [10.0.0.0/8]}}\nbootServers: {enabled: true}")
	manager, boot := one[*networkingv1.NetworkPolicy](t, objects, "farrier-manager").Spec, one[*networkingv1.NetworkPolicy](t, objects, "farrier-bootserver").Spec
	if len(manager.PolicyTypes) != 2 || len(manager.Egress) != 2 || manager.Egress[1].To[0].IPBlock.CIDR != "10.0.0.0/8" || manager.Egress[0].Ports[0].Port.IntVal != 53 {
		t.Errorf("%+v", manager.Egress)
	}
	if len(boot.PolicyTypes) != 1 || boot.Egress != nil {
		t.Errorf("%+v", boot)
	}
	objects = rendered(t, withCertManager, `{networkPolicy: {enabled: true, bootServers: {egressCIDRs: [192.0.2.0/24], ingress: [{ports: [{port: 69, protocol: UDP}]}]}}, bootServers: {enabled: true}}`)
	boot = one[*networkingv1.NetworkPolicy](t, objects, "farrier-bootserver").Spec
	template := one[*appsv1.Deployment](t, objects, "farrier-manager").Spec.Template
	if len(boot.Egress) != 3 || !matches(t, boot.Egress[0].To[0].PodSelector, template.Labels) || boot.Egress[0].Ports[0].Port.IntVal != 8444 || boot.Ingress[len(boot.Ingress)-1].Ports[0].Port.IntVal != 69 {
		t.Errorf("%+v", boot)
	}
}
