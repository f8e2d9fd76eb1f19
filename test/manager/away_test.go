package manager

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

const (
	bootedUUID = "5e1f0000-0000-4000-8000-00000000a3a1"
	bootedMAC  = "52:54:00:a3:a1:01"
	// openUUID is of a machine that boots by a config that somebody wrote, so its ignition is always open.
	openUUID = "5e1f0000-0000-4000-8000-00000000a3a2"
)

// TestAnswersWithoutAPI: the API is gone for good and the registry too, the lease is lost, and every machine is answered as
// before, with artifacts that no machine has asked for yet.
func TestAnswersWithoutAPI(t *testing.T) {
	s := newSite(t)
	s.bootKinds()
	m := launch(t, "first", s.args...)
	m.isReady()
	paths := s.describeBoot()
	before := map[string]answer{}
	for _, path := range paths {
		eventually(t, path, func() (err error) {
			before[path], err = s.ask(path)
			return err
		})
	}
	image, uki := s.artifacts()
	eventually(t, "the artifacts are fetched ahead", func() error {
		if sent, want := s.registry.Counts().BlobBytes, s.artifactBytes(); sent < want {
			return fmt.Errorf("the registry has sent %d bytes of %d", sent, want)
		}
		return nil
	})

	s.registry.SetAway(true)
	s.api.Kill()
	eventually(t, "the lease is lost", func() error {
		if !strings.Contains(m.Log(), "lost lease") {
			return errors.New("nothing is said")
		}
		return nil
	})
	for _, path := range paths {
		got, err := s.ask(path)
		if err != nil || got != before[path] {
			t.Errorf("%s without an API: %v, %q, want %q", path, err, got, before[path])
		}
	}
	for path, want := range map[string][]byte{image: s.both().Kernel, uki: s.both().UKI} {
		if got, err := s.ask(path); err != nil || got.body != string(want) {
			t.Errorf("%s without an API and a registry: %v, %d bytes, want %d", path, err, len(got.body), len(want))
		}
	}
	eventually(t, "the process is alive, and not ready", func() error { return health(m, http.StatusOK, http.StatusServiceUnavailable) })
	if err := m.says("/readyz", http.StatusOK); err == nil || !strings.Contains(err.Error(), "out of touch with the Kubernetes API") {
		t.Errorf("/readyz names no reason: %v", err)
	}
	m.stop()
}

// both is an image for both boot methods.
func (s *site) both() localregistry.Image {
	image := localregistry.SmallImage(7)
	image.UKI = localregistry.SmallUKI(7).UKI
	return image
}

// artifactBytes is how much there is to fetch ahead.
func (s *site) artifactBytes() int64 {
	image := s.both()
	return int64(len(image.Kernel) + len(image.Initramfs) + len(image.Squashfs) + len(image.UKI))
}

// describeBoot makes a Server that boots by either method, and a profile, and returns what its machine may ask.
func (s *site) describeBoot() (paths []string) {
	s.t.Helper()
	if _, err := s.registry.Push(s.t.Context(), "both", "1", s.both()); err != nil {
		s.t.Fatal(err)
	}
	named := metav1.ObjectMeta{Namespace: s.namespace, Name: "by-hand"}
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	server.Spec.SystemUUID = bootedUUID
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: s.namespace, Name: named.Name}
	config := &metalv1.ServerBootConfiguration{ObjectMeta: named}
	config.Spec.ServerRef.Name, config.Spec.Image = server.Name, s.registry.Reference("both", "1")
	config.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: named.Name}
	profile := &ipxev1.Profile{ObjectMeta: named}
	profile.Spec.IPXE, profile.Spec.AdditionalConfig = "#!ipxe\necho {{ notes }}\n", map[string]string{"notes": "hello\n"}
	profile.Spec.AdditionalContent = []ipxev1.AdditionalContent{{Name: "exposed", Exposed: true, Inline: new("there\n")}}
	assignment := &ipxev1.Assignment{ObjectMeta: named}
	assignment.Spec.SubjectSelector, assignment.Spec.ProfileName = map[string]string{"mac": bootedMAC}, profile.Name
	s.create(server, &corev1.Secret{ObjectMeta: named, StringData: map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}}, config, profile, assignment)
	open := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "open"}}
	open.Spec.SystemUUID, open.Spec.KernelURL, open.Spec.InitrdURL = openUUID, "http://192.0.2.1/kernel", "http://192.0.2.1/initrd"
	open.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: named.Name}
	s.create(open)
	before := server.DeepCopy()
	server.Status.NetworkInterfaces = []metalv1.NetworkInterface{{Name: "eth0", MACAddress: bootedMAC}}
	if err := s.Status().Patch(s.t.Context(), server, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
	paths = []string{"/ipxe", "/ipxe/" + bootedUUID, "/ipxe/" + openUUID, "/ignition/" + openUUID, "/httpboot", "/boot.ipxe", "/ipxe?mac=" + url.QueryEscape(bootedMAC), "/healthz", "/readyz"}
	eventually(s.t, "the profile's configs have URLs", func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(profile), profile); err != nil {
			return err
		}
		if len(profile.Status.AdditionalConfig) == 0 {
			return errors.New("none")
		}
		return nil
	})
	for _, id := range profile.Status.AdditionalConfig {
		paths = append(paths, "/config/"+id)
	}
	return paths
}

// artifacts are the paths of the kernel and of the UKI, which nobody asks for before the API is gone.
func (s *site) artifacts() (kernel, uki string) {
	s.t.Helper()
	key := client.ObjectKey{Namespace: s.namespace, Name: "by-hand"}
	var ipxe bootv1.IPXEBootConfig
	var http bootv1.HTTPBootConfig
	eventually(s.t, "the artifacts have URLs", func() error {
		if err := errors.Join(s.Get(s.t.Context(), key, &ipxe), s.Get(s.t.Context(), key, &http)); err != nil {
			return err
		}
		if ipxe.Spec.KernelURL == "" || http.Spec.UKIURL == "" {
			return errors.New("none yet")
		}
		return nil
	})
	return strings.TrimPrefix(ipxe.Spec.KernelURL, s.boot()), strings.TrimPrefix(http.Spec.UKIURL, s.boot())
}

// boot is the base of boot URLs.
func (s *site) boot() string {
	for i, arg := range s.args {
		if arg == "--boot-address" {
			return "http://" + s.args[i+1]
		}
	}
	s.t.Fatal("the site has no boot address")
	return ""
}

// answer is what a machine is told.
type answer struct {
	contentType, body string
}

// ask asks as a machine, or, of /httpboot, as a DHCP server in its name.
func (s *site) ask(path string) (answer, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.boot()+path, nil)
	if err != nil {
		return answer{}, err
	}
	if path == "/httpboot" {
		request.Header.Set("X-Forwarded-For", bootedMAC)
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return answer{response.Header.Get("Content-Type"), string(body)}, err
}

// health reports whether a process answers so about itself.
func health(p *process, alive, ready int) error {
	client := http.Client{Timeout: 5 * time.Second}
	for path, want := range map[string]int{"/healthz": alive, "/readyz": ready} {
		response, err := client.Get(p.health + path)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			return fmt.Errorf("%s: %s, want %d", path, response.Status, want)
		}
	}
	return nil
}
