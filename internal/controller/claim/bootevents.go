package claim

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// word is what a condition of a boot configuration says of the machine: that it fetched something, or what it reported.
type word struct{ attempt, condition, reason string }

// tellMachine makes events of the claim about what its machine has fetched and reported, each once in a boot attempt: that is the news that whoever
// waits for a machine waits for, and the user of a claim may have no access to Servers.
func (r *Reconciler) tellMachine(obj *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration) {
	var words []word
	messages := map[word]string{}
	for _, c := range config.Status.Conditions {
		if w, ok := wordOf(config, c); ok {
			words = append(words, w)
			messages[w] = c.Message
		}
	}
	for _, w := range r.heard.news(client.ObjectKeyFromObject(obj), words) {
		kind := corev1.EventTypeNormal
		if w.reason == reasonNotBooted {
			kind = corev1.EventTypeWarning
		}
		r.event(obj, nil, kind, w.reason, "%s", messages[w])
	}
}

// reasonNotBooted is the reason of BootStateReceived where the machine has reported that it did not boot.
const reasonNotBooted = "NotBooted"

// wordOf is what a condition says of the machine, if it does. That of a delivery always has the same reason, so the event has its type.
func wordOf(config *metalv1.ServerBootConfiguration, c metav1.Condition) (w word, ok bool) {
	switch c.Type {
	case bootv1.ConditionIPXEScriptFetched, bootv1.ConditionUKIFetched, bootv1.ConditionIgnitionDataFetched:
		return word{config.Status.DeliveryAttempt, c.Type, c.Type}, c.Status == metav1.ConditionTrue
	case metalv1.ConditionBootStateReceived:
		return word{config.Status.BootStateAttempt, c.Type, c.Reason}, config.Status.BootStateAttempt != ""
	}
	return w, false
}

// heard has which words of each claim's machine have had an event. Those that this process finds first had theirs from another process, unless it
// knew the claim before they were said.
type heard struct {
	mu sync.Mutex
	by map[client.ObjectKey]map[string]word
}

// news are the words that have had no event.
func (h *heard) news(name client.ObjectKey, words []word) (news []word) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, known := h.by[name]
	if !known {
		before = map[string]word{}
		if h.by == nil {
			h.by = map[client.ObjectKey]map[string]word{}
		}
		h.by[name] = before
	}
	for _, w := range words {
		if known && before[w.condition] != w {
			news = append(news, w)
		}
		before[w.condition] = w
	}
	return news
}

func (h *heard) forget(name client.ObjectKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.by, name)
}
