package logbook

import (
	"strconv"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// Kind says what an Entry tells of.
type Kind string

// What entries tell of.
const (
	KindCommand   Kind = "command"   // a request to a BMC that changes something
	KindBoot      Kind = "boot"      // the machine asked the boot server, or told it
	KindState     Kind = "state"     // state or power of a server, a phase
	KindCondition Kind = "condition" // a condition changed its status or reason
	KindClaim     Kind = "claim"     // a server came to a claim, or left it
	KindObject    Kind = "object"    // an object was made or deleted
	KindConsole   Kind = "console"   // a line that the serial console printed in a boot
)

// Entry is one thing that was done or seen.
type Entry struct {
	// ID orders entries: later ones have greater ones, also over restarts.
	ID   int64     `json:"id"`
	Time time.Time `json:"time"`
	// Subject is whom it is about: ServerSubject, MachineSubject or BMCSubject.
	Subject string `json:"subject"`
	Kind    Kind   `json:"kind"`
	// What happened, in a word or two; Object is to which object, if to one.
	What   string `json:"what"`
	Object string `json:"object,omitempty"`
	// Reason is that of a condition, or the kind of an error; Detail says more, for people.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Bad is true for what should not have happened.
	Bad bool `json:"bad,omitempty"`
	// Took is how long it took.
	Took time.Duration `json:"took,omitempty"`
	// Of a boot: its attempt, who asked and what was answered.
	Attempt string `json:"attempt,omitempty"`
	Address string `json:"address,omitempty"`
	Status  int    `json:"status,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
}

// ServerSubject is a Server object.
func ServerSubject(name string) string { return "server/" + name }

// MachineSubject is a machine, by its canonical system UUID.
func MachineSubject(uuid string) string { return "machine/" + uuid }

// ClaimSubject is a claim that has no server.
func ClaimSubject(namespace, name string) string { return "claim/" + namespace + "/" + name }

// BMCSubject is a BMC, by its IP address or host name, and by its port where that is none of the web's: several BMCs may stand behind one address.
func BMCSubject(host string, port int) string {
	subject := "bmc/" + strings.ToLower(host)
	switch port {
	case 0, 80, 443:
		return subject
	}
	return subject + "#" + strconv.Itoa(port)
}

// maxText bounds each text of an entry.
const maxText = 256

// maxWords bounds the texts that entries can have in common: those that come together are about few machines, and their words are few.
const maxWords = 1 << 12

// kept is the entry with texts of bounded length, which share no memory but with those of other entries.
func (e Entry) kept(words *bounded.Words) Entry {
	for _, text := range []*string{&e.Subject, &e.What, &e.Object, &e.Reason, &e.Detail, &e.Attempt, &e.Address} {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "") + "…"
		} else {
			*text = words.Once(*text)
		}
	}
	return e
}
