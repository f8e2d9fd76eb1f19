package brake

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Account names the account of a cluster-scoped object of the metal API where no object can be handed on: orders of the fleet carry it.
func Account(kind, name string) string { return kind + "/" + name }

// Kinds that BMCs are asked for.
const (
	KindBMC          = "BMC"
	KindServer       = "Server"
	KindBIOSSettings = "BIOSSettings"
)

func subjectOf(account string) subject {
	kind, name, _ := strings.Cut(account, "/")
	return subject{metalv1.GroupVersion.WithKind(kind), types.NamespacedName{Name: name}}
}

// Wait is how long an order for an account has to wait.
func (b *Brake) Wait(account string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	s := subjectOf(account)
	a := b.accounts[s]
	if a == nil {
		return 0
	}
	a = b.of(s, now)
	wait := a.wait(requests)
	if wait > 0 {
		b.refuse(s, requests, now)
	}
	return wait
}

// Spent counts what an order for an account has cost.
func (b *Brake) Spent(account string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(subjectOf(account), b.clock.Now()).spent[requests].used += float64(n)
}
