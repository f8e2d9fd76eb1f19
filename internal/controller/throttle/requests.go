package throttle

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Account names the account of a cluster-scoped object of the metal API. Commands of the fleet carry it.
func Account(kind, name string) string { return kind + "/" + name }

// Kinds of objects that cause requests to BMCs.
const (
	KindBMC          = "BMC"
	KindServer       = "Server"
	KindBIOSSettings = "BIOSSettings"
	KindBIOSVersion  = "BIOSVersion"
	KindBMCVersion   = "BMCVersion"
	KindBMCUser      = "BMCUser"
	KindBMCSettings  = "BMCSettings"
)

func subjectOf(account string) subject {
	kind, name, _ := strings.Cut(account, "/")
	return subject{metalv1.GroupVersion.WithKind(kind), types.NamespacedName{Name: name}}
}

// Wait returns how long a command of an account has to wait.
func (t *Throttle) Wait(account string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	s := subjectOf(account)
	a := t.accounts[s]
	if a == nil {
		return 0
	}
	a = t.of(s, now)
	wait := a.wait(requests)
	if wait > 0 {
		t.refuse(s, requests, now)
	}
	return wait
}

// Spent counts requests of a command of an account.
func (t *Throttle) Spent(account string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(subjectOf(account), t.clock.Now()).spent[requests].used += float64(n)
}
