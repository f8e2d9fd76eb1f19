package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:generate go test -run ^TestThePageOfTroublesIsWhatTheCodeSays$ -update .

// page is docs/troubleshooting.md.
func page() string {
	var b strings.Builder
	b.WriteString("# Troubleshooting\n\n<!-- Generated from the tables in internal/diagnosis by `make generate`. -->\n\n" +
		"`farrier why NAME` says why a server, a claim or a machine is not where it should be: the cause first, then what to do, then the evidence. NAME is a Server,\n" +
		"a ServerClaim (`NAMESPACE/NAME`), a BMC, or the MAC address or UUID of a machine, known to Farrier or not:\n\n" +
		"```console\n$ farrier why node-7\n" +
		"BMC bmc-7 at 10.0.0.7 refuses the user name or the password of BMCSecret secret-7.\n" +
		"Next: Write the right user name and password into BMCSecret secret-7; Farrier tries again by itself.\n```\n\n" +
		"This page has the same sentences by what you see: the reason of a condition (`kubectl get server NAME -o yaml`), or the step of a boot that did not\n" +
		"happen. `farrier why` asks in the order of this page, and names the first that holds. A Server and a ServerClaim say that themselves, in condition\n" +
		"`Troubled`: its reason is the one to look up here.\n\nIn the tables, … stands for the message of the condition.\n")
	for _, kind := range []struct{ kind, title string }{
		{kindClaim, "A claim has no server, or does not boot"}, {kindBMC, "A BMC"}, {kindServer, "A server"}, {kindConfig, "A boot configuration and its image"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| condition | reason | why | what to do | usual causes |\n|---|---|---|---|---|\n", kind.title)
		for _, row := range causes[kind.kind] {
			status := ""
			if row.status != yes {
				status = "=" + string(row.status)
			}
			fmt.Fprintf(&b, "| `%s%s` | `%s` | %s | %s | %s |\n", row.condition, status, row.reason, anybody(row.cause), anybody(row.next), strings.Join(row.usual, " "))
		}
	}
	b.WriteString("\n## A machine does not boot\n\n`farrier why` knows these steps from the requests of the machine, in their order; `farrier timeline` shows each request.\n\n" +
		"| missing step | usually within | why | what to do | usual causes |\n|---|---|---|---|---|\n")
	for _, h := range hops {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", h.step, Duration(h.usual), anybody(h.cause), anybody(h.next), strings.Join(h.causes, " "))
	}
	b.WriteString("\nA machine that asked for a step and was refused has the reason `StepRefused`, with the status that it got.\n\n" +
		"## A machine that Farrier does not know\n\n`farrier unknown` lists the machines that asked for a boot and got nothing. `farrier why MAC` or `farrier why UUID` says what such a machine asked for,\n" +
		"when and from where, and which Server is closest to it: the same UUID in another byte order, the same MAC address or serial number under another UUID, or a\n" +
		"neighbouring MAC address.\n")
	otherReasons(&b)
	return b.String()
}

// otherReasons are those that `farrier why` names no cause by, and those of things that are well.
func otherReasons(b *strings.Builder) {
	b.WriteString("\n## Other reasons\n\n`farrier why` is not asked about these kinds, or another reason of this page is the cause.\n" +
		"More are on the pages of [BIOS settings and maintenances](maintenance.md), [boot servers](boot-servers.md), [Assignments](ipxe-api.md), [subscriptions](events.md) and\n" +
		"[Kubernetes Events](kubernetes-events.md).\n\n| of | reason | why | what to do |\n|---|---|---|---|\n")
	for _, row := range others {
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", row.of, row.reason, row.cause, row.next)
	}
	b.WriteString("\nThese mean that nothing is wrong, or that what is to come comes by itself:\n\n`" + strings.Join(slices.Sorted(maps.Keys(normal)), "`, `") + "`\n")
}

// anybody is a sentence about nobody in particular.
func anybody(text string) string {
	for _, p := range placeholders {
		text = strings.ReplaceAll(text, p.placeholder, p.anybody)
	}
	return strings.NewReplacer("|", "\\|", "….", "…").Replace(sentence(text))
}
