package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

func TestThePageOfTroublesIsWhatTheCodeSays(t *testing.T) {
	golden.Equal(t, "../../docs/troubleshooting.md", page())
}

// elsewhere are reasons of kinds that `farrier why` is not asked about: the pages of these kinds explain them.
var elsewhere = map[string]bool{
	// of Assignments and Profiles: docs/ipxe-api.md
	"NotGranted": true, "Overridden": true, "Assignment": true, "Duplicate": true, "Ambiguous": true, "ProfileAmbiguous": true,
	// of maintenances and BIOS settings: docs/maintenance.md
	"Granted": true, "WaitingForApproval": true, "WaitingForTurn": true, "WaitingForServer": true, "Ending": true,
	// of events: the objects have a condition beside them
	"BMCSecretReplaced": true, "UnsupportedOperation": true, "OperationOutcomeUnknown": true, "ParkDeferred": true, "ParkedOperationDropped": true,
	// of a server that needs no explanation by itself: others say why
	"NotAvailable": true, "NotOff": true,
}

// TestEveryReasonHasItsEntry, or is known to need none.
func TestEveryReasonHasItsEntry(t *testing.T) {
	known := map[string]bool{}
	for _, table := range causes {
		for _, row := range table {
			known[row.reason] = true
			if row.cause == "" || row.next == "" || !strings.HasSuffix(row.cause, ".") {
				t.Errorf("%s of %s: a sentence is missing: %q, %q", row.reason, row.condition, row.cause, row.next)
			}
		}
	}
	found := 0
	for _, folder := range []string{
		"../../api/metal/v1alpha1", "../../api/boot/v1alpha1", "../../api/ipxe/v1alpha1", "../controller/server", "../controller/connection", "../controller/allocator", "../controller/alarm",
	} {
		for name, reason := range reasonsIn(t, folder) {
			found++
			if !known[reason] && !normal[reason] && !elsewhere[reason] {
				t.Errorf("%s: %s (%q) has no entry: give it a row, or name it in normal", folder, name, reason)
			}
			if known[reason] && elsewhere[reason] {
				t.Errorf("%s (%q) has an entry, and is said to be explained elsewhere", name, reason)
			}
		}
	}
	if found < 80 {
		t.Errorf("%d reasons found: is this looked for in the right folders?", found)
	}
}

// reasonsIn are the constants of a folder whose names begin with Reason.
func reasonsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	reasons := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), "reason") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				if text, err := strconv.Unquote(value.Value); err == nil {
					reasons[spec.Names[0].Name] = text
				}
			}
			return true
		})
	}
	return reasons
}
