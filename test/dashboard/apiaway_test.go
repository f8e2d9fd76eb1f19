package dashboard

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// TestTheAPIAloneIsAway: while the process lives, an open page says that Farrier is out of touch with the Kubernetes API and keeps what it shows, also after
// the manager has lost its lease and listens no more; when all is back, it asks to sign in.
func TestTheAPIAloneIsAway(t *testing.T) {
	t.Parallel()
	chromium(t)
	api := testapi.StartWith(t, "--api-address", loopback.Free(t))
	s := &site{Running: &lab.Running{Product: product.At(t, api.RESTConfig())}}
	viewer := s.tokenOf(t, "viewer", []string{"get", "list"})
	s.create(t, &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "node-7"}, Spec: metalv1.ServerSpec{SystemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d32"}})
	operator := loopback.Free(t)
	manager := product.Run(t, product.Manager, "manager", nil, "--kubeconfig", api.Kubeconfig(), "--data-dir", t.TempDir(), "--manager-namespace", "default",
		"--boot-address", loopback.Free(t), "--health-address", "", "--operator-address", operator)
	t.Cleanup(func() {
		manager.Kill()
		manager.ShowIfFailed()
	})
	const away = "Offline: Farrier is out of touch with the Kubernetes API"
	ready(t, operator)
	w := newTab(t, "https://"+operator)
	w.signIn(viewer)
	w.open("/dashboard/servers")
	w.says("node-7")
	w.until("window.stayed = true")

	api.Kill()
	w.says(away)
	product.Eventually(t, "the manager shows nothing any more", func(ctx context.Context) error {
		if answers(ctx, signInPage(operator)) {
			return fmt.Errorf("it answers at %s", operator)
		}
		return nil
	})
	w.says(away)
	w.says("node-7")
	if manager.Ended() {
		t.Error("the process has ended")
	}
	if w.text("window.stayed") != "true" {
		t.Error("the page was loaded again")
	}
	api.Restart(t)
	ready(t, operator)
	w.until("document.querySelector('#token')") // sessions are those of a term
	w.fill("#token", viewer)
	w.press("form[action='/dashboard/signin'] button")
	w.until("location.pathname === '/dashboard/servers' && !document.querySelector('#offline')")
	w.says("node-7")
}

// ready waits until a manager shows its pages: /readyz says ready sooner, as one that stands by is ready too.
func ready(t *testing.T, operator string) {
	t.Helper()
	product.Eventually(t, "the manager shows its pages", func(ctx context.Context) error {
		if !answers(ctx, signInPage(operator)) {
			return fmt.Errorf("%s: no answer", operator)
		}
		return nil
	})
}

func signInPage(operator string) string { return "https://" + operator + "/dashboard/signin" }

// anybody is a client that asks whoever is there.
var anybody = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // it sends nothing

// answers reports whether a URL answers 200.
func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := anybody.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
