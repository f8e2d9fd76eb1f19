package events

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is how many bytes the note of an event may have (k8s.io/kubernetes, pkg/apis/core/validation/events.go, NoteLengthLimit).
const maxNote = 1024

// Send records an event about an object; action and reason are the same. related may be nil. Without a recorder it does nothing.
func Send(r events.EventRecorder, about, related runtime.Object, kind, reason, note string) {
	if r != nil {
		r.Eventf(about, related, kind, reason, reason, "%s", cut(note))
	}
}

func cut(note string) string {
	const mark = "…"
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len(mark)], "") + mark
}

// Differ reports whether a condition says something else than it did: its status, reason or message has changed. nil says nothing.
func Differ(was, is *metav1.Condition) bool {
	if was == nil || is == nil {
		return was != is
	}
	return was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message
}
