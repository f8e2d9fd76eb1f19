package sim

import "time"

// What a machine remembers is bounded.
const (
	maxRecords = 8
	maxFetches = 256
	maxConsole = 256
)

// Outcome is what a boot came to.
type Outcome string

// The outcomes. An empty one means that the boot goes on.
const (
	OutcomeProbe       Outcome = "probe"       // ran the agent, and its report was accepted
	OutcomeInstalled   Outcome = "installed"   // runs what its ignition says
	OutcomeFirmware    Outcome = "firmware"    // sits at the firmware: nothing to boot
	OutcomeFailed      Outcome = "failed"      // Why says at what
	OutcomeInterrupted Outcome = "interrupted" // powered off before it came to anything
	OutcomeRan         Outcome = "ran"         // was a computer, of which only its console tells more
)

// What says what a file was fetched as.
type What string

// The files of a network boot, in the order they are usually fetched.
const (
	WhatChainload What = "chainload"
	WhatScript    What = "script"
	WhatKernel    What = "kernel"
	WhatInitramfs What = "initramfs"
	WhatUKI       What = "uki"
	WhatSquashfs  What = "squashfs"
	WhatIgnition  What = "ignition"
	WhatRegister  What = "register"
	WhatBootState What = "bootstate"
	WhatFile      What = "file" // that a script fetched, whatever for
)

// BootRecord is one episode of a machine: from power-on to power-off.
type BootRecord struct {
	Number int `json:"number"`
	// Boot is what the BMC told the firmware to boot from.
	Boot BootOverride `json:"boot"`

	Start   time.Time `json:"start"`            // powered on
	POST    time.Time `json:"post,omitzero"`    // power-on self test done
	Kernel  time.Time `json:"kernel,omitzero"`  // kernel started
	Settled time.Time `json:"settled,omitzero"` // outcome known
	End     time.Time `json:"end,omitzero"`     // powered off

	// Retries is how often the firmware went through its boot order, when nothing had booted.
	Retries int `json:"retries,omitempty"`

	Outcome Outcome `json:"outcome,omitempty"`
	// Why explains the outcome. While a machine keeps trying it says what the
	// last attempt met.
	Why string `json:"why,omitempty"`

	Fetches []Fetch `json:"fetches,omitempty"`
	// CommandLine is what the kernel was started with.
	CommandLine string `json:"commandLine,omitempty"`
	// Console is what the boot script echoed.
	Console []string `json:"console,omitempty"`
}

// Fetch is one file that a machine asked for.
type Fetch struct {
	URL    string `json:"url"`
	What   What   `json:"what"`
	Status int    `json:"status,omitempty"` // of HTTP; 0: no answer
	// Bytes and SHA256 (lower-case hexadecimal) are of the body that came; of a
	// message that was sent, for WhatRegister and WhatBootState.
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256,omitempty"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Error  string    `json:"error,omitempty"`
}

// Fetched is the last complete, successful fetch of a kind.
func (r BootRecord) Fetched(what What) (Fetch, bool) {
	for i := len(r.Fetches) - 1; i >= 0; i-- {
		if f := r.Fetches[i]; f.What == what && f.Error == "" {
			return f, true
		}
	}
	return Fetch{}, false
}

func (r *BootRecord) addFetch(f Fetch) {
	if len(r.Fetches) < maxFetches {
		r.Fetches = append(r.Fetches, f)
	}
}

func (r *BootRecord) addConsole(line string) {
	if len(r.Console) < maxConsole {
		r.Console = append(r.Console, line)
	}
}
