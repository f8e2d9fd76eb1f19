package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

const (
	// duePart of the machines are due to boot: one of a hundred.
	duePart = 100
	// payloadSize is that of an ignition with a user, a few units and files.
	payloadSize = 4 << 10

	base  = "http://boot.example:8082"
	image = base + "/image?imageName=registry.example%2Fos%2Fgardenlinux&layerDigest=sha256%3A"

	attemptStart = "attempt-"
)

// payload is the ignition of all machines.
var payload = append(append([]byte(`{"ignition":{"version":"3.4.0"},"pad":"`), bytes.Repeat([]byte{'x'}, payloadSize)...), `"}`...)

// machine i, as controllers put it. Its attempt says when it was ordered, in nanoseconds since 1970; 0: before it is measured.
func machine(i int, due bool, ordered int64) (bootview.Entry, error) {
	a := bootview.Attempt{ID: attemptStart + strconv.FormatInt(ordered, 10), Open: due}
	if due {
		a.Token = fmt.Sprintf("%043d", i) // as long as an HMAC-SHA256 in base64url
	}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: base, KernelURL: image + digest('a'), InitrdURL: image + digest('b'), SquashfsURL: image + digest('c'), Attempt: a,
	})
	if err != nil {
		return bootview.Entry{}, fmt.Errorf("machine %d: %w", i, err)
	}
	return bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/default/machine-%06d", i), UUID: uuid(i), Serial: fmt.Sprintf("SN%06d", i),
		MACs: []string{mac(0xfa, i), mac(0xfb, i)}, IPs: []string{fmt.Sprintf("10.%d.%d.%d", i>>16&0xff, i>>8&0xff, i&0xff)},
		Rank: bootview.Current, Script: script, Attempt: a, Terms: bootview.Terms{Server: fmt.Sprintf("machine-%06d", i)},
		Ignition: &bootview.Ignition{Payload: payload, ContentType: "application/json"}, Version: uint64(max(ordered, 1)),
	}, nil
}

func uuid(i int) string { return fmt.Sprintf("4c4c4544-0043-3510-8052-%012x", i) }

func mac(vendor byte, i int) string {
	return fmt.Sprintf("02:%02x:44:%02x:%02x:%02x", vendor, i>>16&0xff, i>>8&0xff, i&0xff)
}

func digest(c byte) string { return string(bytes.Repeat([]byte{c}, 64)) }

// orderedAt is when an attempt was ordered; none: before it is measured.
func orderedAt(attempt string) (time.Time, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(attempt, attemptStart), 10, 64)
	return time.Unix(0, n), err == nil && n > 0
}

// changes are those of a site: a machine comes to be due, and then another one is not due any longer, so that as many are due as before.
type changes struct {
	machines int
	made     int
}

// due is how many machines of a site are.
func due(machines int) int { return max(machines/duePart, 1) }

// next is the entry of the next change, ordered at a time.
func (c *changes) next(at time.Time) (bootview.Entry, error) {
	n := c.made
	c.made++
	first := n / 2 // in the beginning, the first machines are due
	if n%2 == 0 {
		return machine((first+due(c.machines))%c.machines, true, at.UnixNano())
	}
	return machine(first%c.machines, false, at.UnixNano())
}

// fill puts all machines of a site into a view.
func fill(view *bootview.View, machines int) error {
	for i := range machines {
		e, err := machine(i, i < due(machines), 0)
		if err != nil {
			return err
		}
		view.Put(e)
	}
	view.SetSynced(true)
	return nil
}
