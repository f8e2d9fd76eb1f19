package bootconfig

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// shelf records what is pinned.
type shelf map[string]registry.Pin

func (s shelf) Unpin(owner string) { delete(s, owner) }

func (s shelf) Pin(owner string, pin registry.Pin) error {
	s[owner] = pin
	return nil
}

func TestThePullSecretReachesTheRegistry(t *testing.T) {
	s := newStand(t)
	p := s.push(t, "1", kernel)
	s.APIReader = s.API
	needed := shelf{}
	s.Artifacts = needed
	config := newConfig(p.Reference)
	config.Annotations = map[string]string{metalv1.AnnotationImagePullSecret: "registry"}
	s.Add(t, config)
	checkState(t, s.resolved(t), metalv1.ServerBootConfigurationStateError, "Secret ns/registry does not exist")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "registry"}}
	s.Add(t, secret)
	checkState(t, s.settle(t), metalv1.ServerBootConfigurationStateError, "has no key .dockerconfigjson")

	with := func(content string) {
		controllertest.Change(t, s.API, "ns/registry", func(o *corev1.Secret) {
			o.Data = map[string][]byte{corev1.DockerConfigJsonKey: []byte(content)}
		})
	}
	with("not one, s3cret")
	broken := s.resolved(t)
	checkState(t, broken, metalv1.ServerBootConfigurationStateError, "invalid pull secret")
	if strings.Contains(fmt.Sprint(broken.Status), "s3cret") {
		t.Error("the secret shows in status")
	}

	content := fmt.Sprintf(`{"auths":{%q:{"username":"robot","password":"s3cret"}}}`, s.registry.Address())
	with(content)
	checkState(t, s.resolved(t), metalv1.ServerBootConfigurationStatePending)
	if need := needed["ServerBootConfiguration/ns/c"]; need.Plan.Digest != p.Digest || string(need.PullSecret) != content {
		t.Errorf("needed is plan %q", need.Plan.Digest)
	}

	s.Remove(t, config)
	s.Settle(t, s.Reconciler, "ns/c")
	if len(needed) > 0 {
		t.Error("a boot configuration that is gone still needs its image")
	}
}
