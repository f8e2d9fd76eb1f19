package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/place"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// pictures names the folder that `make screenshots` has the pictures of the documentation in.
const pictures = "FARRIER_TEST_PICTURES"

// scene is a rack in which much is as it should be, and some is not.
type scene struct {
	*site
	admin string
}

// TestPictures takes a picture of every page, light and dark, and of some as wide as a telephone.
func TestPictures(t *testing.T) {
	folder := os.Getenv(pictures)
	if folder == "" {
		t.Skip(pictures + " names no folder: run `make screenshots`")
	}
	s := &scene{site: &site{}, admin: loopback.Free(t)}
	s.Running = lab.Start(t, filepath.Join(t.TempDir(), "data"), "--sim", "16", "--sim-vendor", "mix", "--sim-address", "127.0.0.1:0", "--sim-admin-address", s.admin,
		"--registry-address", "127.0.0.1:0", "--bmc-poll-interval", "5s")
	s.arrange(t)
	w, _ := s.linked(t)
	failed, on := s.serverOf(2), s.Bound("web")
	for _, p := range []struct{ name, path, shows string }{
		{"overview", "", "Overview"},
		{"servers", "servers", failed},
		{"racks", "servers?view=racks", "a2"},
		{"server", "servers/" + on, "TIMELINE"},
		{"server-failed", "servers/" + failed, "Next"},
		{"claims", "claims", "gpu"},
		{"claim", "claims/default/web", "web"},
		{"claim-waiting", "claims/default/gpu", "gpu"},
		{"images", "images", "sample"},
		{"bmcs", "bmcs", "sim-0004"},
		{"bmc", "bmcs/" + s.bmcOf(4), "CONDITIONS"},
		{"rollouts", "rollouts", "bios"},
		{"unknown", "unknown", "4c4c4544-0051-3610-8057-b4c04f333233"},
	} {
		w.open("/dashboard/" + p.path)
		w.says(p.shows)
		w.takeBoth(filepath.Join(folder, "dashboard-"+p.name))
	}
	w.open("/dashboard/servers/" + on)
	w.press("#console-open")
	w.says("You write.")
	w.press("#console .xterm-screen")
	w.types("uname -a\r")
	w.until(`document.querySelector("#console .xterm-rows").textContent.replaceAll("\u00a0", " ").includes("uname -a")`)
	w.do(chromedp.Evaluate("document.activeElement.blur(); document.querySelector('#console').scrollIntoView({block: 'center', behavior: 'instant'})", nil))
	w.colours("light")
	w.take(filepath.Join(folder, "dashboard-console.png"), screenshot)
	w.colours("dark")
	w.take(filepath.Join(folder, "dashboard-console-dark.png"), screenshot)
	w.do(chromedp.EmulateViewport(400, 800))
	for name, path := range map[string]string{"overview": "", "servers": "servers", "server": "servers/" + failed, "rollouts": "rollouts"} {
		w.open("/dashboard/" + path)
		w.says(strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "s"))
		w.takeBoth(filepath.Join(folder, "dashboard-narrow-"+name))
	}
	stranger := newTab(t, s.Operator)
	stranger.open("/dashboard/")
	stranger.takeBoth(filepath.Join(folder, "dashboard-signin"))
}

// screenshot is what is in the window, and not the whole page.
var screenshot = chromedp.CaptureScreenshot

// takeBoth takes a picture of the whole page in light colours, and one in dark.
func (w *tab) takeBoth(file string) {
	w.t.Helper()
	whole := func(content *[]byte) chromedp.Action { return chromedp.FullScreenshot(content, 100) }
	w.until("!document.querySelector('#offline')")
	w.colours("light")
	w.take(file+".png", whole)
	w.colours("dark")
	w.take(file+"-dark.png", whole)
}

func (w *tab) colours(scheme string) {
	w.t.Helper()
	w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
	w.until("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

func (w *tab) take(file string, how func(*[]byte) chromedp.Action) {
	w.t.Helper()
	var content []byte
	w.do(how(&content))
	small, err := fewColours(content)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, small, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// fewColours is a PNG picture with its 256 most frequent colours: a quarter of the size, for nobody sees the shades at the edges of letters.
func fewColours(content []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	bounds, times := full.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			times[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(times), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	nearest := make(map[color.RGBA]uint8, len(colours))
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var small bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, few)
	return small.Bytes(), err
}

func (s *scene) bmcOf(n int) string { return fmt.Sprintf("sim-%04d", n) }

func (s *scene) serverOf(n int) string { return s.bmcOf(n) + "-system-0" }

// arrange claims servers, breaks others, and updates the BIOS of some.
func (s *scene) arrange(t *testing.T) {
	t.Helper()
	for n := 1; n <= 16; n++ {
		s.ServerIs(s.serverOf(n), metalv1.ServerStateAvailable, metalv1.PowerStateOff)
		s.label(t, n)
	}
	image := s.Registry + "/farrier/sample:latest"
	s.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ignition"}, StringData: map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}})
	for name, n := range map[string]int{"web": 1, "ledger": 2, "store-a": 5, "store-b": 6} {
		s.create(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: metalv1.ServerClaimSpec{
			Power: metalv1.PowerOn, Image: image, IgnitionSecretRef: &metalv1.LocalObjectReference{Name: "ignition"}, ServerRef: &metalv1.LocalObjectReference{Name: s.serverOf(n)},
		}})
		s.ServerIs(s.Bound(name), metalv1.ServerStateReserved, metalv1.PowerStateOn)
	}
	s.create(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}, Spec: metalv1.ServerClaimSpec{
		Power: metalv1.PowerOn, Image: image, ServerSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"accelerator": "h200"}},
	}})
	s.create(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "batch"}, Spec: metalv1.ServerClaimSpec{
		Power: metalv1.PowerOn, Image: s.Registry + "/farrier/smaple:latest", ServerRef: &metalv1.LocalObjectReference{Name: s.serverOf(3)},
	}})
	s.breakDisk(t)
	s.fault(t, "unauthorized", "4")
	s.fault(t, "hang", "12")
	s.ask(t, s.Boot+"/ipxe/4c4c4544-0051-3610-8057-b4c04f333233")
	s.update(t)
	for _, n := range []int{4, 12} {
		s.Eventually("BMC "+s.bmcOf(n)+" fails", func(ctx context.Context) error {
			var bmc metalv1.BMC
			if err := s.Get(ctx, client.ObjectKey{Name: s.bmcOf(n)}, &bmc); err != nil {
				return err
			}
			for _, c := range bmc.Status.Conditions {
				if c.Type == metalv1.ConditionReady && c.Status == metav1.ConditionFalse {
					return nil
				}
			}
			return errors.New("it answers")
		})
	}
}

// label says where a server stands: two racks of one zone, and one of another.
func (s *scene) label(t *testing.T, n int) {
	t.Helper()
	zone, rack := "fra-1", "a1"
	switch {
	case n > 12:
		zone, rack = "fra-2", "b1"
	case n > 6:
		rack = "a2"
	}
	var server metalv1.Server
	if err := s.Get(t.Context(), client.ObjectKey{Name: s.serverOf(n)}, &server); err != nil {
		t.Fatal(err)
	}
	before := client.MergeFrom(server.DeepCopy())
	if server.Labels == nil {
		server.Labels = map[string]string{}
	}
	server.Labels[place.LabelZone], server.Labels[place.LabelRack], server.Labels[place.LabelUnit] = zone, rack, fmt.Sprint(2*((n-1)%6)+1)
	if err := s.Patch(t.Context(), &server, before); err != nil {
		t.Fatal(err)
	}
}

// breakDisk has a server come back whose disk cannot be erased.
func (s *scene) breakDisk(t *testing.T) {
	t.Helper()
	s.fault(t, "disk-fails", "2")
	if err := s.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ledger"}}); err != nil {
		t.Fatal(err)
	}
	s.Eventually("the server is not clean", func(ctx context.Context) error {
		var server metalv1.Server
		if err := s.Get(ctx, client.ObjectKey{Name: s.serverOf(2)}, &server); err != nil {
			return err
		}
		if server.Status.State != metalv1.ServerStateError {
			return fmt.Errorf("it is %s", server.Status.State)
		}
		return nil
	})
}

// update begins a rollout, whose canaries are done and watched.
func (s *scene) update(t *testing.T) {
	t.Helper()
	firmware := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "BIOS", r.URL.Path) }))
	t.Cleanup(firmware.Close)
	policy := &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "canaries-first"}}
	policy.Spec.MaxUnavailable.Fleet = new(intstr.FromString("25%"))
	policy.Spec.Waves = []farrierv1.Wave{{UpTo: intstr.FromInt32(2), Bake: "24h"}, {UpTo: intstr.FromString("60%"), Bake: "2h"}}
	policy.Spec.FailureLimit = new(intstr.FromInt32(2))
	s.create(t, policy)
	set := &metalv1.BIOSVersionSet{ObjectMeta: metav1.ObjectMeta{Name: "bios", Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: policy.Name}}}
	set.Spec.ServerSelector = metav1.LabelSelector{MatchLabels: map[string]string{place.LabelZone: "fra-1", place.LabelRack: "a2"}}
	set.Spec.BIOSVersionTemplate.Version = "2.20.0"
	set.Spec.BIOSVersionTemplate.Image.URI = firmware.URL + "/bios-2.20.0.bin"
	s.create(t, set)
	s.Eventually("the canaries are done", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if set.Status.CompletedBIOSVersion < 2 {
			return fmt.Errorf("%d are", set.Status.CompletedBIOSVersion)
		}
		return nil
	})
}

func (s *scene) fault(t *testing.T, kind, bmcs string) {
	t.Helper()
	if stdout, stderr, code := product.Ask(t, product.Farrier, "sim", "fault", "set", "--admin-address", s.admin, "--kind", kind, "--bmcs", bmcs); code != 0 {
		t.Fatalf("farrier sim fault set: exit code %d: %s%s", code, stdout, stderr)
	}
}

// ask has a machine ask that nobody knows.
func (s *scene) ask(t *testing.T, url string) {
	t.Helper()
	c := &http.Client{Timeout: 10 * time.Second}
	response, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}
