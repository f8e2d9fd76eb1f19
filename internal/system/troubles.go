package system

import (
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
)

// What boot servers without Kubernetes cannot use or fetch is said by the objects that it is made of.

// reached tells the controllers of records that a boot server has taken or refused, and of images that it cannot fetch, or can again.
func (c *controllers) reached(keys []string) {
	c.delivery.Reached(keys)
	if c.profiles == nil {
		return
	}
	for _, key := range keys {
		if namespace, name, ok := records.Profile(key); ok {
			c.profiles.Refused(namespace, name)
		}
		if namespace, name, ok := records.Assignment(key); ok {
			c.assignments.Refused(namespace, name)
		}
		if owner, ok := records.Image(key); ok {
			c.images.FetchChanged(owner)
		}
	}
}

// showTroubles has Profiles, Assignments and boot configurations say which boot servers cannot use them, or cannot fetch their image.
func (c *controllers) showTroubles(stream *bootstream.Server) {
	if c.profiles == nil {
		return
	}
	c.profiles.Refusals = func(namespace, name string) string {
		return bootstream.Explain(stream.Refusals(records.OfProfile(namespace, name)))
	}
	c.assignments.Refusals = func(namespace, name string) string {
		return bootstream.Explain(stream.Refusals(records.OfAssignment(namespace, name)))
	}
	c.images.Unfetched = func(owner string) string {
		key := records.OfImage(owner)
		sentences := []string{bootstream.Explain(stream.Refusals(key)), bootstream.ExplainUnfetched(stream.Unfetched(key))}
		return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), "; ")
	}
}
