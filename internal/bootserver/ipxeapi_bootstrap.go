package bootserver

import (
	"net/http"
	"strings"
)

// plainLabels go as they are, and the UUID first: ${uuid:uristring} is the octets, escaped.
var plainLabels = []struct{ name, setting string }{
	{"uuid", "uuid"}, {"mac", "netX/mac:hexhyp"}, {"ip", "netX/ip"},
}

// textLabels are settings of text that say something of the machine. Left out are username, password, key and privkey,
// which are nobody's business, and what belongs to a boot program rather than to the machine it runs on.
var textLabels = []string{
	"serial", "asset", "board-serial", "manufacturer", "product", "hostname", "domain",
	"buildarch", "cpuarch", "platform", "version", "user-class",
}

// namesItself is the request with which a machine says what it is, relative to the script's own URL, so that it stays
// with the server, and the address family, that the machine has found already.
func namesItself() string {
	var b strings.Builder
	b.WriteString("ipxe?")
	for i, l := range plainLabels {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(l.name + "=${" + l.setting + "}")
	}
	for _, name := range textLabels {
		b.WriteString("&" + name + "=${" + name + ":uristring}")
	}
	return b.String()
}

// bootstrapStart finds out what the processor is: an iPXE that a BIOS started is built for i386 wherever it runs.
// CPUID leaf 80000001h tells of long mode in bit 29 of EDX. A program without that command, such as one for ARM, goes on.
const bootstrapStart = `#!ipxe
cpuid --ext 29 || goto ask
set cpuarch x86_64
:ask
chain `

// bootstrapWait keeps a machine in network boot that cannot be answered, or whose script failed. 503 with Retry-After is
// repeated by iPXE itself; this is for everything else. A script that says "exit" ends network boot. As in the default
// script, the pause and the goto do not stand in one line, and Ctrl-C during the pause leads to the console.
const bootstrapWait = ` || goto again
exit
:again
echo Cannot boot yet, asking again in 10 seconds
imgfree ||
sleep 10
goto ask
`

var (
	waitingBootstrap = []byte(bootstrapStart + namesItself() + bootstrapWait)
	// leavingBootstrap is for who chains to something else when nothing is assigned.
	leavingBootstrap = []byte(bootstrapStart + namesItself() + "\n")
)

func bootstrap(noAssignment int) []byte {
	if noAssignment == http.StatusNotFound {
		return leavingBootstrap
	}
	return waitingBootstrap
}
