package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// The ways to follow docs/first-rack.md, as it titles the sections that are for one of them.
const (
	withOurDHCP   = "With Farrier's DHCP"
	besideAnother = "Beside your DHCP server"
)

// TestFirstRack follows docs/first-rack.md: it runs the commands of the page, all of them and nothing else, on a host whose first process is systemd. Only the number of servers
// is another. The rack are virtual machines behind BMCs that speak HTTPS with certificates of their own.
func TestFirstRack(t *testing.T) {
	needsNamespace(t)
	program := dnsmasq(t)
	if !inNamespace(t) {
		return
	}
	loopbackUp(t)
	for _, c := range []struct {
		way      string
		firmware string
	}{{withOurDHCP, "bios,uefi"}, {besideAnother, "bios"}} {
		t.Run(c.way, func(t *testing.T) {
			inFullRuns(t) // TestLife discovers machines, too; TestFirstRackPage reads the page
			tabulate(t)
			rack := newFirstRack(t, c.firmware)
			if c.way == besideAnother {
				rack.leaseByDnsmasq(program)
			}
			host := newFirstHost(t)
			host.plug(rack.cables...)
			page := followPage(t, c.way, len(rack.bmcs))
			follow := host.follow(page)
			follow.reaches("## 6. BMCs")
			rack.takeAddresses()
			follow.ends()
			host.has(rack)
		})
	}
}

var (
	pageHeading = regexp.MustCompile(`(?m)^#{2,3} .*$`)
	pageBlock   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// followPage returns the commands of the page for one way, with the title of each section printed before its commands.
func followPage(t *testing.T, way string, machines int) string {
	t.Helper()
	content, err := os.ReadFile("../../docs/first-rack.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	const count = "machines=20 "
	if strings.Count(page, count) != 1 {
		t.Fatalf("docs/first-rack.md has %q %d times", count, strings.Count(page, count))
	}
	page = strings.Replace(page, count, fmt.Sprintf("machines=%d ", machines), 1)

	others := []string{"### " + withOurDHCP, "### " + besideAnother}
	var script strings.Builder
	var used int
	titles := append(pageHeading.FindAllStringIndex(page, -1), []int{len(page), len(page)})
	for i, at := range titles[:len(titles)-1] {
		title, section := page[at[0]:at[1]], page[at[1]:titles[i+1][0]]
		if slices.Contains(others, title) {
			if title != "### "+way {
				continue
			}
			used++
		}
		fmt.Fprintf(&script, "echo %q\n", title)
		for _, block := range pageBlock.FindAllStringSubmatch(section, -1) {
			script.WriteString(block[1])
		}
	}
	if used == 0 {
		t.Fatalf("docs/first-rack.md has no section %q", way)
	}
	return script.String()
}

// has compares what Farrier on the host says of the servers with the rack.
func (h *firstHost) has(rack *firstRack) {
	h.t.Helper()
	const kubectl = "kubectl --kubeconfig /var/lib/farrier/kubeconfig "
	var servers metalv1.ServerList
	var bmcs metalv1.BMCList
	for command, into := range map[string]any{kubectl + "get servers -o json": &servers, kubectl + "get bmcs -o json": &bmcs} {
		if err := json.Unmarshal([]byte(h.run(command)), into); err != nil {
			h.t.Fatalf("%s: %v", command, err)
		}
	}
	want := rack.uuids()
	for _, s := range servers.Items {
		if s.Status.State != metalv1.ServerStateAvailable || !slices.Contains(want, s.Spec.SystemUUID) {
			h.t.Errorf("Server %s, with the UUID %s, is %s", s.Name, s.Spec.SystemUUID, s.Status.State)
		}
	}
	if len(servers.Items) != len(want) {
		h.t.Errorf("%d Servers, want %d", len(servers.Items), len(want))
	}
	for _, b := range bmcs.Items {
		if !apimeta.IsStatusConditionTrue(b.Status.Conditions, metalv1.ConditionSecure) {
			h.t.Errorf("BMC %s: %s is not true: %+v", b.Name, metalv1.ConditionSecure, b.Status.Conditions)
		}
	}
	if got := strings.TrimSpace(h.run("systemctl is-enabled farrier")); got != "enabled" {
		h.t.Errorf("the unit is %s", got)
	}
	h.run("systemctl stop farrier")
	if got := strings.TrimSpace(h.run("systemctl show --property Result,ExecMainStatus farrier")); !strings.Contains(got, "Result=success") || !strings.Contains(got, "ExecMainStatus=0") {
		h.t.Errorf("after it was stopped: %s", got)
	}
}

// TestFirstRackPage: every command of the page is in a block that TestFirstRack runs, and both ways have all steps.
func TestFirstRackPage(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-rack.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if kind, isBlock := strings.CutPrefix(line, "```"); isBlock && !slices.Contains([]string{"sh\n", "text\n", "\n"}, kind) {
			t.Errorf("a block begins with %q: want sh for commands, text for what they print", strings.TrimSpace(line))
		}
	}
	for _, way := range []string{withOurDHCP, besideAnother} {
		script := followPage(t, way, 2)
		for _, command := range []string{"machines=2 ", "/etc/farrier/farrier.yaml", "systemctl enable --now farrier", "kubectl annotate", "kubectl get servers\n"} {
			if !strings.Contains(script, command) {
				t.Errorf("%s: no %q in\n%s", way, command, script)
			}
		}
	}
}
