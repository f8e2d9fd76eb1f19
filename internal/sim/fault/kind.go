package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind names a fault.
type Kind string

// The faults of a connection or of a request, whatever it asks for.
const (
	Latency         Kind = "latency"
	Hang            Kind = "hang"
	HangBody        Kind = "hang-body"
	Reset           Kind = "reset"
	Unauthorized    Kind = "unauthorized"
	Forbidden       Kind = "forbidden"
	TooManyRequests Kind = "too-many-requests"
	ServerError     Kind = "server-error"
	Unavailable     Kind = "unavailable"
	WrongJSON       Kind = "wrong-json"
	TruncatedJSON   Kind = "truncated-json"
	TLSFailure      Kind = "tls-failure"
)

// The faults of logging in.
const (
	SessionLoss      Kind = "session-loss"
	SessionTableFull Kind = "session-table-full"
	NoSessions       Kind = "no-sessions"
	SessionsRefused  Kind = "sessions-refused"
	NoToken          Kind = "no-token"
	AccountLocked    Kind = "account-locked"
)

// The faults of accounts.
const (
	AccountTableFull Kind = "account-table-full"
	PasswordExpiry   Kind = "password-expiry"
	PasswordsRefused Kind = "passwords-refused"
)

// The faults of what a BMC says and does.
const (
	ClockSkew       Kind = "clock-skew"
	SlowPOST        Kind = "slow-post"
	IgnoreShutdown  Kind = "ignore-shutdown"
	PowerLies       Kind = "power-lies"
	NoUUID          Kind = "no-uuid"
	NoPowerState    Kind = "no-power-state"
	NoBootTarget    Kind = "no-boot-target"
	FewBootTargets  Kind = "few-boot-targets"
	OverrideIgnored Kind = "override-ignored"
	NoStorage       Kind = "no-storage"
	ExpandLies      Kind = "expand-lies"
	MemberError     Kind = "member-error"
	DropEvents      Kind = "drop-events"
	DiskFails       Kind = "disk-fails"
	OldProbe        Kind = "old-probe"
	SilentProbe     Kind = "silent-probe"
	KernelPanic     Kind = "kernel-panic"
	ConsoleHang     Kind = "console-hang"
	ConsoleRefuse   Kind = "console-refuse"
	NoConsole       Kind = "no-console"
	BadUpdate       Kind = "bad-update"
	SlowReset       Kind = "slow-reset"
	SettingsRefused Kind = "settings-refused"
	SettingsIgnored Kind = "settings-ignored"
)

// Info describes a kind.
type Info struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
	// Value says what the value means; empty: the kind has none.
	Value   string `json:"value,omitempty"`
	Default string `json:"default,omitempty"`

	parse func(string) (Value, error)
	// requests says that the fault is about single requests, so that a path can
	// choose among them.
	requests bool
}

// Value is the value of a fault. Which field counts, its kind says.
type Value struct {
	Duration time.Duration
	Count    int
	Text     string
}

var kinds = []Info{
	{Kind: Latency, What: "every answer comes late", Value: "how late", Default: "1s", parse: duration, requests: true},
	{Kind: Hang, What: "requests are accepted and never answered", requests: true},
	{Kind: HangBody, What: "answers stop in the middle of the body, and the connection stays open", requests: true},
	{Kind: Reset, What: "the connection is reset in place of an answer", requests: true},
	{Kind: Unauthorized, What: "401, whatever the credentials are", requests: true},
	{Kind: Forbidden, What: "403 with InsufficientPrivilege", requests: true},
	{Kind: TooManyRequests, What: "429 with Retry-After", Value: "seconds to wait", Default: "1", parse: count, requests: true},
	{Kind: ServerError, What: "500 with InternalError", requests: true},
	{Kind: Unavailable, What: "503 with Retry-After", Value: "seconds to wait", Default: "1", parse: count, requests: true},
	{Kind: WrongJSON, What: "200 with a body that is not what was asked for", Value: "array, types (numbers for strings and so on) or html", Default: "array", parse: oneOf("array", "types", "html"), requests: true},
	{Kind: TruncatedJSON, What: "200 with half of the body, and a Content-Length that agrees", requests: true},
	{Kind: TLSFailure, What: "the TLS handshake fails, or the certificate is not good", Value: "alert, expired, name (of another host), authority (an unknown one) or self-signed (for no address)", Default: "alert", parse: oneOf("alert", "expired", "name", "authority", "self-signed")},
	{Kind: SessionLoss, What: "sessions are forgotten", Value: "how many requests a session is good for", Default: "1", parse: count},
	{Kind: SessionTableFull, What: "the session table is full of others' sessions", Value: "their Context", parse: text},
	{Kind: NoSessions, What: "there is no session service, only Basic authentication", Value: "what a login is answered: 404, or 401 as is everything that comes without a password", Default: "404", parse: oneOf("404", "401")},
	{Kind: SessionsRefused, What: "logins are answered 401, whatever the password; Basic authentication works"},
	{Kind: NoToken, What: "sessions are made without X-Auth-Token; Basic authentication works"},
	{Kind: AccountLocked, What: "the accounts are locked", Value: "after how many wrong passwords for each; 0: all of them, from the start", Default: "0", parse: count},
	{Kind: AccountTableFull, What: "the account table is full of others' accounts; who deletes one has room"},
	{Kind: PasswordExpiry, What: "passwords expire: a login with one that has is 403 with PasswordChangeRequired until it is changed", Value: "how long a password lasts; 0: those from before the fault have expired, and newer ones last", Default: "0", parse: duration},
	{Kind: PasswordsRefused, What: "new passwords are refused, whatever they are", Value: "rules (AccountService wants more characters than it allows) or silent (AccountService does not say so)", Default: "rules", parse: oneOf("rules", "silent")},
	{Kind: ClockSkew, What: "the BMC's clock is wrong", Value: "by how much; negative: slow", Default: "-24h", parse: anyDuration},
	{Kind: SlowPOST, What: "power-on self tests take longer", Value: "by how much", Default: "5m", parse: duration},
	{Kind: IgnoreShutdown, What: "graceful shutdowns and restarts are accepted and never happen"},
	{Kind: PowerLies, What: "the power state is not the truth", Value: "asked (a reset does nothing and PowerState says it did) or frozen (resets work and PowerState stays)", Default: "asked", parse: oneOf("asked", "frozen")},
	{Kind: NoUUID, What: "systems have no UUID"},
	{Kind: NoPowerState, What: "systems have no PowerState"},
	{Kind: NoBootTarget, What: "systems have no BootSourceOverrideTarget"},
	{Kind: FewBootTargets, What: "the boot override is Pxe, Cd or Hdd and lasts, as with libvirt; the target None is 500", Value: "what a change of BootSourceOverrideEnabled alone is: refused (400) or taken, as 'boot from disk'", Default: "refused", parse: oneOf("refused", "taken")},
	{Kind: OverrideIgnored, What: "the boot override is accepted and shown, and the machine boots as if there were none"},
	{Kind: NoStorage, What: "systems have no Storage, only SimpleStorage"},
	{Kind: ExpandLies, What: "the service root offers $expand, and its answers are no good", Value: "ignored (links all the same), refused (501), cut (half of the members) or huge (2 MiB more)", Default: "ignored", parse: oneOf("ignored", "refused", "cut", "huge")},
	{Kind: MemberError, What: "collections list one more member, which answers 500", requests: true},
	{Kind: DropEvents, What: "subscriptions are accepted and no event is delivered"},
	{Kind: SettingsRefused, What: "changes of settings of BIOS and BMC are refused (400)", requests: true},
	{Kind: SettingsIgnored, What: "changes of settings of BIOS and BMC are accepted, and nothing changes", requests: true},
	{Kind: DiskFails, What: "disks of the machine can be read and not be written or erased", Value: "which disk, counted from 1; 0: all", Default: "1", parse: count},
	{Kind: OldProbe, What: "the probe is one that cannot clean, and does not know what that is"},
	{Kind: SilentProbe, What: "the probe starts and reports nothing"},
	{Kind: KernelPanic, What: "the kernel of a machine panics before it fetches anything"},
	{Kind: ConsoleHang, What: "the SSH server accepts connections and says nothing"},
	{Kind: ConsoleRefuse, What: "the SSH server refuses every password"},
	{Kind: NoConsole, What: "serial over LAN is switched off; SerialConsole says so"},
	{Kind: BadUpdate, What: "updates of firmware go wrong", Value: "fails, vanishes (with its task), stalls (until the BMC is reset), other (version than the image's), keeps (the version that was there) or bricks (what was updated)", Default: "fails", parse: oneOf("fails", "vanishes", "stalls", "other", "keeps", "bricks")},
	{Kind: SlowReset, What: "restarts of the BMC take longer", Value: "by how much", Default: "2m", parse: duration},
}

// Kinds lists all faults there are.
func Kinds() []Info { return slices.Clone(kinds) }

func lookup(k Kind) (Info, bool) {
	i := slices.IndexFunc(kinds, func(info Info) bool { return info.Kind == k })
	if i < 0 {
		return Info{}, false
	}
	return kinds[i], true
}

// value reads the value that a spec gives for a kind.
func (i Info) value(given string) (Value, error) {
	if i.parse == nil {
		if given != "" {
			return Value{}, fmt.Errorf("%s has no value", i.Kind)
		}
		return Value{}, nil
	}
	if given == "" {
		given = i.Default
	}
	v, err := i.parse(given)
	if err != nil {
		return Value{}, fmt.Errorf("%q: %w; for %s it is %s", given, err, i.Kind, i.Value)
	}
	return v, nil
}

func anyDuration(s string) (Value, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return Value{}, errors.New("want a duration such as 50ms")
	}
	return Value{Duration: d}, nil
}

func duration(s string) (Value, error) {
	v, err := anyDuration(s)
	if err == nil && v.Duration < 0 {
		err = errors.New("want a duration that is not negative")
	}
	return v, err
}

func count(s string) (Value, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Value{}, errors.New("want a number that is not negative")
	}
	return Value{Count: n}, nil
}

// maxText bounds what a fault puts into answers: as long as Session.Context may be.
const maxText = 256

func text(s string) (Value, error) {
	if len(s) > maxText {
		return Value{}, fmt.Errorf("longer than %d bytes", maxText)
	}
	return Value{Text: s}, nil
}

func oneOf(words ...string) func(string) (Value, error) {
	return func(s string) (Value, error) {
		if !slices.Contains(words, s) {
			return Value{}, errors.New("want one of " + strings.Join(words, ", "))
		}
		return Value{Text: s}, nil
	}
}
