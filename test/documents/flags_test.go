package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/flags.md has every flag of every program: the test of hack/manual writes it. So what pages say of flags is compared with it.

var (
	flagRow  = regexp.MustCompile("(?m)^\\| `(?:-[A-Za-z], )?(--?[a-z0-9-]+)[ `]")
	flagName = regexp.MustCompile(`(?:^|[\s\x60(\[,/|"'])(--[a-z][a-z0-9-]+)`)
)

// foreign are flags of other programs that pages tell people to run: kubectl, helm, git, cosign, systemctl and others.
var foreign = strings.Fields(`--annotate --api-versions --bind --branch --cascade --clusterrole --count --create-namespace --delimiter --directory --fields --flatten --force-conflicts
	--from-file --from-literal --group --ignore-missing --key --lines --name --no-pager --now --overwrite --previous --raw --replicas --server-side --set
	--show-managed-fields --take-ownership --target-kubeconfig --tlog-upload --type --unit`)

// TestFlags fails for a flag that a page names and no program of ours has.
func TestFlags(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/flags.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"--help": true}
	for _, m := range flagRow.FindAllStringSubmatch(string(page), -1) {
		known["--"+strings.TrimLeft(m[1], "-")] = true
	}
	if len(known) < 100 {
		t.Fatalf("docs/flags.md has only %d flags", len(known))
	}
	used := map[string]bool{}
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "test/clients/") { // tell of what is gone, and of others
			continue
		}
		for _, flag := range flagsIn(text) {
			used[flag] = true
			if !known[flag] && !slices.Contains(foreign, flag) {
				t.Errorf("%s names %s, which none of our programs has", name, flag)
			}
		}
	}
	for _, flag := range foreign {
		if !used[flag] || known[flag] {
			t.Errorf("%s is no flag of another program that a page names", flag)
		}
	}
}

// flagsIn are the flags that a page names, in its code and in its sentences.
func flagsIn(text string) (flags []string) {
	for _, m := range flagName.FindAllStringSubmatch(text, -1) {
		flags = append(flags, m[1])
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}
