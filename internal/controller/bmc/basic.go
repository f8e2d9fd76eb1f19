package bmc

import "github.com/farrier-dev/farrier/internal/bmc"

// answers is what Ready says of a BMC that answers. Where that is not with a session, it says why: each request is a
// login in the BMC's log, and has the password in it.
func answers(why bmc.WhyBasic) string {
	reason := map[bmc.WhyBasic]string{
		bmc.BasicNoSessions:      "It offers no sessions",
		bmc.BasicSessionsRefused: "It refuses a session for this account",
		bmc.BasicNoToken:         "It creates sessions without a token",
	}[why]
	if reason == "" {
		return "The BMC answers"
	}
	return "The BMC answers. " + reason + ", so each request carries the password (Basic authentication)"
}
