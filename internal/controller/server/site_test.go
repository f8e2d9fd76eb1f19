package server

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
)

// TestTheProbeReportsToTheURLOfItsSite: what discovery boots knows no other way home.
func TestTheProbeReportsToTheURLOfItsSite(t *testing.T) {
	sites, err := booturl.Parse([]string{"http://10.0.0.1:8082", "a=http://boot.a.example", "six=http://[fd00:6::1]:8082"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{
		Sites: sites, Namespace: namespace, TokenKey: []byte(strings.Repeat("k", 32)), ProbeAgentImage: "registry.example/agent:1",
		DiscoveryTemplate: "variant: fcos\nversion: 1.3.0\nstorage:\n  files:\n  - path: /agent\n    contents: {inline: {{quote (printf \"%s %s\" .RegistryURL .Image)}}}\n",
	}
	for label, want := range map[string]string{
		"": "http://10.0.0.1:8082", "a": "http://boot.a.example", "six": "http://[fd00:6::1]:8082", "gone": "http://10.0.0.1:8082",
	} {
		server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "uid", Labels: map[string]string{metalv1.LabelSite: label}}}
		_, secrets, err := r.internalObjects(&View{Server: server}, &bootattempt.Attempt{ID: "id"}, derivedboot.Image{})
		if err != nil {
			t.Fatal(err)
		}
		var butane string
		for _, o := range secrets {
			if secret, ok := o.(*corev1.Secret); ok && secret.Data[bootv1.SecretKeyIgnition] != nil {
				butane = string(secret.Data[bootv1.SecretKeyIgnition])
			}
		}
		if !strings.Contains(butane, `"`+want+"/probe/") || !strings.Contains(butane, " registry.example/agent:1") {
			t.Errorf("site %q: no %s in\n%s", label, want, butane)
		}
	}
}
