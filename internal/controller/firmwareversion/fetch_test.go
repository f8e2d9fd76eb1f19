package firmwareversion

import (
	"crypto/sha256"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/sim"
)

func digestOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func withDigest(v *metalv1.VersionTemplate) { v.Image.URI += "#sha256=" + digestOf("firmware") }

// TestHowTheBMCGetsTheImage: Farrier fetches an image once and before it asks for the server; a BMC that takes images is sent it.
func TestHowTheBMCGetsTheImage(t *testing.T) {
	takes, fetches := sim.Supermicro, sim.Standard
	for name, tc := range map[string]struct {
		vendor sim.Vendor
		serves bool
		change func(*metalv1.VersionTemplate)
		// how often the image was fetched before the server was asked for, and in all; from Farrier; and sent.
		before, fetched, passedOn, pushed int32
	}{
		"as ever":                             {fetches, false, nil, 0, 1, 0, 0},
		"as ever, by a BMC that takes images": {takes, false, nil, 0, 1, 0, 0},
		"verified":                            {fetches, false, withDigest, 1, 2, 0, 0},
		"verified, and sent":                  {takes, false, withDigest, 1, 1, 0, 1},
		"from Farrier":                        {fetches, true, nil, 1, 1, 1, 0},
		"from Farrier, verified":              {fetches, true, withDigest, 1, 1, 1, 0},
		"sent":                                {takes, true, nil, 1, 1, 0, 1},
		"with credentials that the BMC need not have":    {fetches, true, withCredentials, 1, 1, 1, 0},
		"with credentials, to a BMC that is sent images": {takes, true, withCredentials, 1, 1, 0, 1},
	} {
		for _, kind := range Kinds() {
			t.Run(name+"/"+kind.Name, func(t *testing.T) {
				t.Parallel()
				s := newStand(t, kind, tc.vendor)
				s.keepsImages(t, tc.serves)
				s.secret(t)
				if tc.change == nil {
					tc.change = func(*metalv1.VersionTemplate) {}
				}
				s.Add(t, s.wanted(tc.change))
				s.waits(t)
				if n := s.fetched.Load(); n != tc.before {
					t.Errorf("fetched %d times before the server was asked for", n)
				}
				s.grants(t)
				s.returned(t, s.completes(t))
				if fetched, passedOn, pushed := s.fetched.Load(), s.passedOn.Load(), s.pushed.Load(); fetched != tc.fetched || passedOn != tc.passedOn || pushed != tc.pushed {
					t.Errorf("fetched %d times, from Farrier %d times, sent %d times", fetched, passedOn, pushed)
				}
				if n := s.posted.Load() + s.pushed.Load(); n != 1 {
					t.Errorf("%d updates were started", n)
				}
			})
		}
	}
}

// secret has the credentials for the server of images.
func (s *stand) secret(t *testing.T) {
	t.Helper()
	s.Add(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "farrier-system", Name: "firmware-server"},
		Data:       map[string][]byte{corev1.BasicAuthUsernameKey: []byte("u"), corev1.BasicAuthPasswordKey: []byte("p")},
	})
}

func withCredentials(v *metalv1.VersionTemplate) {
	v.Image.SecretRef = &metalv1.SecretReference{Name: "firmware-server"}
}

// TestAnImageThatCannotBeFetched is waited for, and the server stays where it is, until it can be.
func TestAnImageThatCannotBeFetched(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kind, sim.Standard)
			s.keepsImages(t, true)
			s.Add(t, s.wanted(func(v *metalv1.VersionTemplate) { v.Image.URI += "/missing" }))
			i := s.until(t, reasonImageUnavailable, func(i *item) bool {
				return len(i.status.Conditions) > 0 && i.status.Conditions[0].Reason == reasonImageUnavailable
			})
			controllertest.Says(t, i.status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, reasonImageUnavailable, "404 Not Found")
			if i.status.State != metalv1.VersionStatePending || len(i.maintenances()) != 0 || len(s.Writes("ServerMaintenance")) > 0 {
				t.Errorf("state %s, maintenances %v", i.status.State, i.maintenances())
			}
		})
	}
}

// TestAnImageIsFetchedAgain: a process that begins in the middle has no images, and fetches what its objects need before it starts an update.
func TestAnImageIsFetchedAgain(t *testing.T) {
	t.Parallel()
	s := newStand(t, BIOS, sim.Standard)
	s.keepsImages(t, true)
	s.Add(t, s.wanted())
	s.grants(t)
	s.until(t, "about to start the update", func(i *item) bool {
		p := progressOf(i)
		return p != nil && p.Step == stepOff
	})
	s.keepsImages(t, true)
	s.returned(t, s.completes(t))
	if fetched, passedOn := s.fetched.Load(), s.passedOn.Load(); fetched != 2 || passedOn != 1 {
		t.Errorf("fetched %d times, from Farrier %d times", fetched, passedOn)
	}
}
