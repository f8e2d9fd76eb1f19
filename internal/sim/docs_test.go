package sim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const simulatorPage = "../../docs/simulator.md"

// blocks are the fenced blocks of a page in a language.
func blocks(page, language string) []string {
	var out []string
	for _, part := range strings.Split(page, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		out = append(out, block)
	}
	return out
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(simulatorPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamplesWork runs what the page tells people to type.
func TestExamplesWork(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	rack := startRack(t, Options{Servers: 12, Username: "admin", Password: "simulated"})
	if !rack.shared {
		t.Skip("loopback has one address")
	}
	admin, err := rack.StartAdmin(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(":8000", fmt.Sprintf(":%d", rack.Port()), "127.0.0.1:7999", admin.String())
	examples := blocks(readPage(t), "sh")
	if len(examples) < 5 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, example := range examples {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", here.Replace(example)).CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("%s\n%v: %s", example, err, out)
		}
	}
	if n := rack.Machine(0).Resets()["On"]; n != 1 {
		t.Errorf("the examples turned a machine on %d times", n)
	}
}

func TestFaultsArePrintedAsTheyAre(t *testing.T) {
	page := readPage(t)
	var table strings.Builder
	for _, k := range fault.Kinds() {
		value := k.Value
		if k.Default != "" {
			value += " (`" + k.Default + "`)"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.Kind, k.What, value)
	}
	if !strings.Contains(page, table.String()) {
		t.Errorf("the table of faults in %s is not\n%s", simulatorPage, table.String())
	}
	for _, example := range blocks(page, "yaml") {
		if specs, err := fault.Parse([]byte(example)); err != nil || len(specs) == 0 {
			t.Errorf("%v in\n%s", err, example)
		}
	}
	for _, v := range Vendors() {
		if !strings.Contains(page, "`"+string(v)+"`") {
			t.Errorf("vendor %s is not on the page", v)
		}
	}
}

var odataID = regexp.MustCompile(`"@odata\.id": "([^"#]+)"`)

// TestCurlWalksEveryVendor follows every link with curl, level by level.
func TestCurlWalksEveryVendor(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip(err)
	}
	rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors()})
	for i, info := range rack.BMCs() {
		visited := map[string]bool{"/redfish/v1/": true}
		for level := []string{"/redfish/v1/"}; len(level) > 0; {
			args := []string{"-fsS", "--max-time", "30", "-u", DefaultUsername + ":" + DefaultPassword}
			for _, uri := range level {
				args = append(args, rack.baseURL(i)+uri)
			}
			out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: curl %v: %v\n%.500s", info.Vendor, level, err, out)
			}
			level = nil
			for _, found := range odataID.FindAllStringSubmatch(string(out), -1) {
				if uri := found[1]; !visited[uri] {
					visited[uri] = true
					level = append(level, uri)
				}
			}
		}
		if len(visited) < 50 || !visited[rack.Machine(i).biosURI()] {
			t.Errorf("%s: %d resources", info.Vendor, len(visited))
		}
	}
}
