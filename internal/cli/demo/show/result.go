package show

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/farrier-dev/farrier/internal/printable"
)

// Result is what came of the demo. `farrier demo -o json` prints it as one object.
type Result struct {
	// OK says that every step happened: above all, that each claimed machine fetched exactly what its
	// image and its Secret hold.
	OK bool `json:"ok"`
	// Interrupted reports whether a person ended the demo.
	Interrupted bool `json:"interrupted,omitempty"`
	// FailedStep names the step that did not happen, and Why says why.
	FailedStep string `json:"failedStep,omitempty"`
	Why        string `json:"why,omitempty"`
	// Start is when the demo began, Seconds how long it took until its last step.
	Start   Moment  `json:"start"`
	Seconds Seconds `json:"seconds"`
	// BootSeconds is the time from the making of the claims until all of their machines ran.
	BootSeconds Seconds `json:"bootSeconds,omitempty"`
	// Steps are those that were begun, in order.
	Steps []Step `json:"steps"`
	// Servers are all of the rack, by name.
	Servers []ServerHistory `json:"servers"`
	// Claims are those that were made, by name.
	Claims []ClaimHistory `json:"claims"`
}

// Step is one step of the demo.
type Step struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Begin is when the step was begun, Took how long it took or was waited for.
	Begin Moment  `json:"begin"`
	Took  Seconds `json:"tookSeconds"`
	// Why says why it did not happen.
	Why string `json:"why,omitempty"`
}

// ServerHistory is everything that a server went through.
type ServerHistory struct {
	Name       string `json:"name"`
	SystemUUID string `json:"systemUUID"`
	Model      string `json:"model,omitempty"`
	// States are those of Server.status.state, Power those of Server.status.powerState; each with
	// the moment from which on the API showed it.
	States []Change `json:"states"`
	Power  []Change `json:"power"`
}

// Change is a new value.
type Change struct {
	Value string `json:"value"`
	Moment
}

// ClaimHistory is one claim, and what its machine did.
type ClaimHistory struct {
	// Name is namespace/name.
	Name string `json:"name"`
	// Server is empty for a claim that was never bound.
	Server string `json:"server,omitempty"`
	Image  string `json:"image"`
	// OK says that the machine fetched all of Files, and each was what it had to be.
	OK    bool   `json:"ok"`
	Files []File `json:"files"`
	// Cleanup is what was done to its disks when the claim was gone; absent: it did not come to that.
	Cleanup *Cleanup `json:"cleanup,omitempty"`
	// Phases are the parts of its life, in order.
	Phases []Phase `json:"phases"`
	// Events are what happened to the server from its BMC's Endpoint to its being available again,
	// both as the API told it and as the machine itself remembers it.
	Events []Event `json:"events"`
}

// File is one file that a claimed machine had to fetch.
type File struct {
	// What is script, kernel, initramfs, squashfs or ignition.
	What string `json:"what"`
	// URL is where the machine fetched it; empty if it did not.
	URL string `json:"url,omitempty"`
	// Fetched is the digest of the bytes that the machine got. Expected is for kernel, initramfs and
	// squashfs the digest of the layer in the registry, for ignition that of the bytes in the Secret, for the script
	// that of what the boot server gives for this machine's UUID.
	Fetched  string `json:"fetched,omitempty"`
	Expected string `json:"expected"`
	Bytes    int64  `json:"bytes"`
	// Took is from the request to the last byte.
	Took Seconds `json:"tookSeconds"`
	OK   bool    `json:"ok"`
	// Why says what is wrong with it.
	Why string `json:"why,omitempty"`
}

// Cleanup is what the record of a cleanup says, beside what was seen on the disks themselves.
type Cleanup struct {
	// Mode is metadata or full.
	Mode string `json:"mode"`
	OK   bool   `json:"ok"`
	// Summary is the record's own.
	Summary string      `json:"summary"`
	Disks   []WipedDisk `json:"disks"`
}

// WipedDisk is one disk of a Cleanup.
type WipedDisk struct {
	Path   string `json:"path"`
	Serial string `json:"serial"`
	// Method, Took, Result and Why are from the record.
	Method string  `json:"method"`
	Took   Seconds `json:"tookSeconds"`
	Result string  `json:"result"`
	Why    string  `json:"why,omitempty"`
	// Before and After are what the simulated disk held when the claim was deleted, and holds when the record is there.
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// Phase is a part of the life of a claim.
type Phase struct {
	Name string  `json:"name"`
	Took Seconds `json:"tookSeconds"`
}

// Event is something that happened to a server.
type Event struct {
	Moment
	// Part is the part of its life: found, discovered, claimed, released.
	Part   string `json:"part"`
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	// Took is, for a file, how long it took to come, and otherwise the time since the event before.
	Took Seconds `json:"tookSeconds"`
}

// WriteJSON writes the result as one object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // URLs are for reading
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Failure is the closing line of a demo that failed or was interrupted.
func (r *Result) Failure() string {
	if r.Interrupted {
		return fmt.Sprintf("demo interrupted at step %q; everything that it started has ended", r.FailedStep)
	}
	return fmt.Sprintf("demo failed at step %q: %s", r.FailedStep, printable.Line(r.Why))
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
