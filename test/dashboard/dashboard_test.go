package dashboard

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// site is a product with a simulated rack, and the token of somebody who may only look.
type site struct {
	*lab.Running
	viewer string
	server string // claimed and on
	free   string
}

// TestDashboard: people sign in, look, claim, release, type at a console, and are told what they may not.
func TestDashboard(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := &site{}
	s.Running = lab.Start(t, filepath.Join(t.TempDir(), "data"), "--sim", "3", "--sim-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0", "--sim-admin-address", "127.0.0.1:0")
	s.viewer = s.tokenOf(t, "viewer", []string{"get", "list"})
	s.populate(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *site)
	}{
		{"token", token}, {"link", link}, {"live", live}, {"claim and release", claimAndRelease}, {"forbidden", forbidden}, {"console", console},
		{"keyboard", keyboard}, {"narrow", narrow}, {"markup and deletion", markupAndDeletion},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

// populate waits for the rack, and has one of its servers claimed.
func (s *site) populate(t *testing.T) {
	t.Helper()
	s.create(t, &metalv1.ServerClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: metalv1.ServerClaimSpec{Power: metalv1.PowerOn, Image: s.Registry + "/farrier/sample:latest"},
	})
	s.server = s.Bound("web")
	s.ServerIs(s.server, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	s.Eventually("a server is free", func(ctx context.Context) error {
		var all metalv1.ServerList
		if err := s.List(ctx, &all); err != nil {
			return err
		}
		for i := range all.Items {
			if all.Items[i].Status.State == metalv1.ServerStateAvailable {
				s.free = all.Items[i].Name
				return nil
			}
		}
		return errors.New("none is")
	})
}

func (s *site) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := s.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// tokenOf makes somebody who may do that with what Farrier defines, and no more.
func (s *site) tokenOf(t *testing.T, name string, verbs []string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.create(t, account)
	s.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{metalv1.GroupVersion.Group}, Resources: []string{"*"}}}})
	s.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := s.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// linked is a window in which the administrator has signed in by a link of `farrier dashboard`, which it returns.
func (s *site) linked(t *testing.T) (*tab, string) {
	t.Helper()
	stdout, stderr, code := product.Ask(t, product.Farrier, "dashboard", "--kubeconfig", s.Kubeconfig)
	printed := strings.TrimSpace(stdout)
	if code != 0 || !strings.HasPrefix(printed, s.Operator) {
		t.Fatalf("farrier dashboard: exit code %d: %s%s", code, stdout, stderr)
	}
	w := newTab(t, s.Operator)
	w.do(chromedp.Navigate(printed))
	w.until("document.querySelector('.person')")
	return w, printed
}

func token(t *testing.T, s *site) {
	w := newTab(t, s.Operator)
	w.open("/dashboard/servers")
	w.fill("#token", "guess")
	w.press("form[action='/dashboard/signin'] button")
	w.says("The Kubernetes API does not know this token")
	w.fill("#token", s.viewer)
	w.press("form[action='/dashboard/signin'] button")
	w.until("location.pathname === '/dashboard/servers'")
	w.says("system:serviceaccount:default:viewer")
	w.says(s.server)
	w.press("form[action='/dashboard/signout'] button")
	w.until("document.querySelector('#token')")
	w.open("/dashboard/servers")
	w.until("document.querySelector('#token') && !document.body.innerText.includes('" + s.server + "')")
}

func link(t *testing.T, s *site) {
	w, printed := s.linked(t)
	w.says("Overview")
	again := newTab(t, s.Operator)
	again.do(chromedp.Navigate(printed))
	again.says("This link was used before")
}

// live: what somebody else changes is shown on the page that is open, which stays the same.
func live(t *testing.T, s *site) {
	w := newTab(t, s.Operator)
	w.signIn(s.viewer)
	w.open("/dashboard/servers/" + s.free)
	w.until("window.stayed = true")
	for _, cordoned := range []bool{true, false} {
		var server metalv1.Server
		if err := s.Get(t.Context(), client.ObjectKey{Name: s.free}, &server); err != nil {
			t.Fatal(err)
		}
		before := client.MergeFrom(server.DeepCopy())
		server.Spec.Unclaimable = cordoned
		if err := s.Patch(t.Context(), &server, before); err != nil {
			t.Fatal(err)
		}
		if cordoned {
			w.until("document.querySelector('.head .tag')?.textContent === 'cordoned'")
		} else {
			w.until("!document.querySelector('.head .tag')")
		}
	}
	if w.text("window.stayed") != "true" {
		t.Error("the page was loaded again")
	}
}

func claimAndRelease(t *testing.T, s *site) {
	w, _ := s.linked(t)
	w.open("/dashboard/claims")
	w.unfold("#claim")
	w.fill("#claim input[name='name']", "by-form")
	w.fill("#claim input[name='image']", s.Registry+"/farrier/sample:latest")
	w.press("#claim button.main")
	w.until("location.pathname === '/dashboard/claims/default/by-form'")
	w.says("by-form")
	s.ServerIs(s.Bound("by-form"), metalv1.ServerStateReserved, metalv1.PowerStateOn)
	w.until("document.querySelector('.head .state')?.textContent.includes('Bound')")
	w.unfold("#ask-release")
	w.press("#ask-release button.danger")
	s.Eventually("the claim is released", func(ctx context.Context) error {
		var claim metalv1.ServerClaim
		err := s.Get(ctx, client.ObjectKey{Namespace: "default", Name: "by-form"}, &claim)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	w.says("Not Found")
}

// forbidden: who may only look is told which right is missing, and nothing changes.
func forbidden(t *testing.T, s *site) {
	w := newTab(t, s.Operator)
	w.signIn(s.viewer)
	w.open("/dashboard/servers/" + s.free)
	w.until("document.querySelector(\"form[action$='/cordon']\") || document.querySelector('#ask-cordon')")
	if w.text("Boolean(document.querySelector('#ask-cordon'))") == "true" {
		w.unfold("#ask-cordon")
	}
	w.press("form[action$='/cordon'] button")
	w.says(`cannot patch resource "servers"`)
	w.says("403")
	var server metalv1.Server
	if err := s.Get(t.Context(), client.ObjectKey{Name: s.free}, &server); err != nil {
		t.Fatal(err)
	}
	if server.Spec.Unclaimable {
		t.Error("who may only look has cordoned a server")
	}
}

// console: what somebody types comes back from the machine.
func console(t *testing.T, s *site) {
	w, _ := s.linked(t)
	w.open("/dashboard/servers/" + s.server)
	w.press("#console-open")
	w.says("You write.")
	w.press("#console .xterm-screen")
	w.types("who is there\r")
	w.until(`document.querySelector("#console .xterm-rows").textContent.replaceAll("\u00a0", " ").includes("who is there")`)
}

// keyboard: whoever has no mouse reaches everything that can be pressed, in the order of the page, sees where they are, and leaves again.
func keyboard(t *testing.T, s *site) {
	const (
		here     = "document.activeElement"
		reached  = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0)`
		mostTabs = 400
	)
	w, _ := s.linked(t)
	for _, path := range []string{"", "servers", "servers?view=racks", "servers/" + s.free, "claims", "claims/default/web", "images", "bmcs", "rollouts", "unknown"} {
		w.open("/dashboard/" + path)
		w.until("document.querySelector('main h1')")
		w.do(chromedp.KeyEvent(kb.Tab))
		if got := w.text(here + ".className"); got != "skip" {
			t.Errorf("/dashboard/%s: the first key leads to %q, not to the link that skips the menu", path, got)
		}
		all, unseen := w.text(reached+".length"), []string(nil)
		want, err := strconv.Atoi(all)
		if err != nil || want == 0 || want > mostTabs {
			t.Fatalf("/dashboard/%s: %s can be pressed", path, all)
		}
		met := 0
		for range mostTabs { // places that scroll take the focus, too
			if w.text(here+".matches('a, button, input, select, textarea, summary')") == "true" {
				met++
			}
			if w.text("(() => { const s = getComputedStyle("+here+"); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px'; })()") != "true" {
				unseen = append(unseen, w.text(here+".outerHTML.slice(0, 80)"))
			}
			w.do(chromedp.KeyEvent(kb.Tab))
			if w.text(here+" === document.body || "+here+".className === 'skip'") == "true" {
				break
			}
		}
		if met != want {
			t.Errorf("/dashboard/%s: keys lead to %d of %s", path, met, all)
		}
		if len(unseen) > 0 {
			t.Errorf("/dashboard/%s: nobody sees that these have the focus: %q", path, unseen)
		}
	}
	w.open("/dashboard/servers/" + s.free)
	w.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	w.until(here + ".id === 'main'")
}

// narrow: no page of a telephone is wider than it.
func narrow(t *testing.T, s *site) {
	w, _ := s.linked(t)
	w.do(chromedp.EmulateViewport(400, 800))
	for _, path := range []string{"", "servers", "servers?view=racks", "servers/" + s.server, "servers/" + s.free, "claims", "claims?server=" + s.free, "claims/default/web", "images", "bmcs", "rollouts", "unknown", "else", "signin"} {
		w.open("/dashboard/" + path)
		if got := w.text("document.scrollingElement.scrollWidth <= innerWidth"); got != "true" {
			t.Errorf("/dashboard/%s: %s: %s px wide", path, got, w.text("document.scrollingElement.scrollWidth"))
		}
	}
	var bmcs metalv1.BMCList
	if err := s.List(t.Context(), &bmcs); err != nil || len(bmcs.Items) == 0 {
		t.Fatalf("%d BMCs: %v", len(bmcs.Items), err)
	}
	w.open("/dashboard/bmcs/" + bmcs.Items[0].Name)
	w.until("document.scrollingElement.scrollWidth <= innerWidth")
}

// markupAndDeletion: what a machine is called is text, and the page of a server that is deleted says so.
func markupAndDeletion(t *testing.T, s *site) {
	const evil = `"><img src=x onerror=alert(1)><script>alert(2)</script>`
	doomed := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}, Spec: metalv1.ServerSpec{SystemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d32"}}
	s.create(t, doomed)
	s.Eventually("status of "+doomed.Name, func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(doomed), doomed); err != nil {
			return err
		}
		doomed.Status.Manufacturer, doomed.Status.Model = evil, evil
		return s.Status().Update(ctx, doomed)
	})
	w := newTab(t, s.Operator)
	w.signIn(s.viewer)
	for _, path := range []string{"servers", "servers/doomed"} {
		w.open("/dashboard/" + path)
		w.says(evil)
		if n := w.text("document.querySelectorAll('main img, main script').length"); n != "0" {
			t.Errorf("%s: %s elements of a name", path, n)
		}
	}
	if err := s.Delete(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}
	w.says("Not Found")
}

// TestAway: a page says that Farrier is away, and asks to sign in when it is back, for sessions are kept in memory.
func TestAway(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := &site{}
	dataDir, address := filepath.Join(t.TempDir(), "data"), loopback.Free(t)
	s.Running = lab.Start(t, dataDir, "--operator-address", address)
	viewer := s.tokenOf(t, "viewer", []string{"get", "list"})
	w := newTab(t, s.Operator)
	w.signIn(viewer)
	w.open("/dashboard/servers")
	w.says("No servers yet")
	s.Kill()
	w.says("Offline: Farrier does not answer.")
	w.says("No servers yet")
	lab.Start(t, dataDir, "--operator-address", address)
	w.until("document.querySelector('#token')")
	w.fill("#token", viewer)
	w.press("form[action='/dashboard/signin'] button")
	w.until("location.pathname === '/dashboard/servers' && !document.querySelector('#offline')")
	w.says("No servers yet")
}
