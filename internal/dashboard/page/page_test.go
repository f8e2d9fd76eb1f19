package page

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// pagesOf are all pages of a source, by a name for their file.
func pagesOf(t testing.TB, s Source) map[string]View {
	t.Helper()
	all := map[string]View{"signin": SignIn("", "/dashboard/", "ada"), "failure": Failure(http.StatusForbidden, "User ada may not list servers.")}
	for name, draw := range map[string]func(context.Context) (View, error){
		"overview":      func(ctx context.Context) (View, error) { return Overview(ctx, s) },
		"servers":       func(ctx context.Context) (View, error) { return Servers(ctx, s, nil) },
		"racks":         func(ctx context.Context) (View, error) { return Servers(ctx, s, url.Values{"view": {"racks"}}) },
		"server":        func(ctx context.Context) (View, error) { return Server(ctx, s, "node-0") },
		"server-failed": func(ctx context.Context) (View, error) { return Server(ctx, s, "node-6") },
		"claims":        func(ctx context.Context) (View, error) { return Claims(ctx, s, nil) },
		"claim":         func(ctx context.Context) (View, error) { return Claim(ctx, s, "default", "training") },
		"images":        func(ctx context.Context) (View, error) { return Images(ctx, s) },
		"bmcs":          func(ctx context.Context) (View, error) { return BMCs(ctx, s, nil) },
		"bmc":           func(ctx context.Context) (View, error) { return BMC(ctx, s, "bmc-11") },
		"rollouts":      func(ctx context.Context) (View, error) { return Rollouts(ctx, s) },
		"unknown":       func(ctx context.Context) (View, error) { return Unknown(ctx, s) },
	} {
		v, err := draw(t.Context())
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil {
			all[name] = v
		}
	}
	return all
}

func htmlOf(t testing.TB, v View) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, Shell{Path: "/dashboard/", Person: "ada", CSRF: "csrf-token", Live: "/dashboard/events"}, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unsafe is what the Content-Security-Policy would stop, and what would lead elsewhere.
var unsafe = regexp.MustCompile(`(?i)\sstyle=|<style|\son[a-z]+=|javascript:|<script>|(src|href)="(https?:)?//|ZgotmplZ`)

// TestPages draws every page of a fleet in every state. With FARRIER_PAGES it leaves them in that folder, to be looked at.
func TestPages(t *testing.T) {
	pages := pagesOf(t, fleet(t))
	if len(pages) != 14 {
		t.Errorf("%d pages", len(pages))
	}
	folder := os.Getenv("FARRIER_PAGES")
	for name, v := range pages {
		html := htmlOf(t, v)
		if found := unsafe.FindString(html); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		for _, form := range strings.Split(html, `method="post"`)[1:] {
			if inputs, _, _ := strings.Cut(form, "</form>"); !strings.Contains(inputs, `name="csrf" value="csrf-token"`) {
				t.Errorf("%s: a form without its token: %.200s", name, inputs)
			}
		}
		if folder != "" {
			if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(html), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPagesTell(t *testing.T) {
	pages := pagesOf(t, fleet(t))
	for name, wants := range map[string][]string{
		"overview":      {"Needs somebody", "CleanupFailed", "NoMatchingServer", `href="/dashboard/servers/node-6"`, "11 of 12", "data-chart="},
		"servers":       {"node-11", "PowerEdge R650", `href="/dashboard/claims/default/web"`, "?state=Parked"},
		"racks":         {"fra-1", "rack-3", `aria-label="Reserved"`},
		"server":        {`aria-current="step"`, "412 MiB", "/dashboard/servers/node-0/power-off", "/dashboard/claims/default/web/release", "leaf-3", "PM9A3", `data-server="node-0"`, "503"},
		"server-failed": {"Not clean", "input/output error", "WD-1234", "/dashboard/servers/node-6/wipe", "✕"},
		"claims":        {"training", "ghcr.io/acme/flatcar:4081.2", `name="csrf"`},
		"claim":         {"gpu=a100", "NoMatchingServer"},
		"images":        {"sha256:5e5e", "498 MiB", "ghcr.io/acme/old"},
		"bmcs":          {"fails", "iDRAC9", "10.9.0.21"},
		"bmc":           {"AuthenticationFailed", "node-11"},
		"unknown":       {"52:54:00:aa:bb:cc"},
	} {
		html := htmlOf(t, pages[name])
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
}

// TestSentence: the page of a server shows the sentence that `farrier why` prints.
func TestSentence(t *testing.T) {
	s := fleet(t)
	_, why, err := s.why(t.Context(), "node-6")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Server(t.Context(), s, "node-6")
	if err != nil {
		t.Fatal(err)
	}
	html := htmlOf(t, v)
	for _, sentence := range []string{why.Cause, why.Next} {
		if !strings.Contains(unescape(html), sentence) {
			t.Errorf("no %q", sentence)
		}
	}
}

func TestNothingThere(t *testing.T) {
	s := sourceOf(t)
	s.Boots, s.Logbook, s.Unknown, s.Cached = nil, nil, nil, nil
	v, err := Overview(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if html := htmlOf(t, v); !strings.Contains(html, "No servers yet") || !strings.Contains(html, "could not be read") {
		t.Errorf("overview:\n%s", html)
	}
	for _, path := range []func() (View, error){
		func() (View, error) { return Servers(t.Context(), s, url.Values{"view": {"racks"}, "page": {"7"}}) },
		func() (View, error) { return Servers(t.Context(), s, url.Values{"page": {"-1"}, "state": {"<b>"}}) },
		func() (View, error) { return Claims(t.Context(), s, nil) },
		func() (View, error) { return Images(t.Context(), s) },
		func() (View, error) { return BMCs(t.Context(), s, nil) },
		func() (View, error) { return Rollouts(t.Context(), s) },
	} {
		v, err := path()
		if err != nil {
			t.Fatal(err)
		}
		htmlOf(t, v)
	}
	for name, read := range map[string]func() (View, error){
		"server": func() (View, error) { return Server(t.Context(), s, "gone") },
		"claim":  func() (View, error) { return Claim(t.Context(), s, "default", "gone") },
		"bmc":    func() (View, error) { return BMC(t.Context(), s, "gone") },
	} {
		if _, err := read(); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, err := Servers(t.Context(), s, url.Values{"label": {"a in ("}}); err != nil || v.Status != http.StatusBadRequest {
		t.Errorf("a label that is none: %d %v", v.Status, err)
	}
}

// TestMissingObjects: a server whose BMC, claim and boot configuration are gone still has its page.
func TestMissingObjects(t *testing.T) {
	server := serverOf(0, "Reserved")
	server.Spec.ServerClaimRef, server.Spec.BootConfigurationRef = refOf("gone"), objectOf("gone")
	s := sourceOf(t, server)
	s.Boots = func(context.Context, string) (operator.Boots, error) { return operator.Boots{}, operator.ErrForbidden }
	v, err := Server(t.Context(), s, "node-0")
	if err != nil {
		t.Fatal(err)
	}
	if html := htmlOf(t, v); !strings.Contains(html, "403 Forbidden") {
		t.Error("what may not be read is not said")
	}
}

// TestClocks: what happened in the future by our clock happened now.
func TestClocks(t *testing.T) {
	s := fleet(t)
	s.Now = now.Add(-100 * time.Hour)
	for name, v := range pagesOf(t, s) {
		if html := htmlOf(t, v); regexp.MustCompile(`>-\d`).MatchString(html) {
			t.Errorf("%s: a negative time", name)
		}
	}
}

func TestAssets(t *testing.T) {
	for _, name := range []string{"style.css", "dashboard.js", "icon.svg"} {
		if _, err := fs.Stat(Assets, name); err != nil {
			t.Error(err)
		}
	}
}

// TestRollouts: how far each has come and why it stands still, harmless whatever its Set is called.
func TestRollouts(t *testing.T) {
	p := &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}}
	since := before(5 * time.Minute)
	p.Status.Rollouts = []farrierv1.Rollout{
		{Kind: "BIOSVersionSet", Name: "bios", Wave: 2, Waves: 3, Targets: 100, Waiting: 88, InProgress: 8, Completed: 4, Reason: "InProgress", Message: "25 may be unavailable", Since: &since},
		{Kind: "BMCVersionSet", Name: "<script>", Wave: 1, Waves: 3, Targets: 100, Waiting: 98, Failed: 2, Reason: "FailureLimitReached", Message: "2 have failed: 2 TaskFailed"},
		{Kind: "BIOSSettingsSet", Name: "quiet", Wave: 2, Waves: 3, Targets: 9, Waiting: 7, InProgress: 1, Completed: 1, Reason: "WaitingForGate", Message: "ProbeBoot waits for n1", Since: &since},
	}
	v, err := Rollouts(t.Context(), sourceOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	html := htmlOf(t, v)
	for _, want := range []string{"BIOSVersionSet bios", "careful", "2 of 3", "25 may be unavailable", "5m", "FailureLimitReached", `class="wrong"`, "WaitingForGate", "ProbeBoot waits for n1"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in\n%s", want, html)
		}
	}
	if strings.Contains(html, "<script>") {
		t.Error("the name of a Set is markup")
	}
}
