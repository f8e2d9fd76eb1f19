package diagnosis

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

func TestThePageOfTroublesIsWhatTheCodeSays(t *testing.T) {
	golden.Equal(t, "../../docs/troubleshooting.md", page())
}

// elsewhere are reasons that a page of docs/ explains, by page.
var elsewhere = map[string]string{
	"maintenance.md": `AnotherBIOSSettings AnotherBMCSettings Applying BMCNotBack InvalidDocument InvalidFieldPath InvalidMethod InvalidURI NoAttributes ResourceMissing RestartFailed TooLong
		UnknownVariable VariableFieldMissing VariableKeyMissing VariableSourceMissing VariableSourceRefused DuplicateFlowName NotVerified PowerFailed ReadOnlyAttribute Retrying SettingsApplied SettingsNotReadable TaskFailed
		UnexpectedPendingSettings UnknownAttribute VersionMismatch WaitingForApproval WaitingForBMC WaitingForMaintenance WaitingForServer WaitingForTurn WriteFailed`,
	"sets.md":     "ChildrenCompleted ChildrenFailed ChildrenInProgress NothingSelected TargetTaken",
	"firmware.md": "Updating VersionReached",
	"rollouts.md": "Completed CompletedWithFailures",
	"credentials.md": `AccountPending AccountReady AccountTableFull AnotherBMCUser OwnAccount PasswordNotVerified
		PasswordRulesNotSatisfiable RemovingAccount RoleUnknown`,
	"boot-servers.md": "AllUsable Disconnected Expired Follows NeverConnected NoProblems NotConnected NotReady Problems RenewalLate Valid",
	"ipxe-api.md":     "Assignment Duplicate NotGranted Overridden",
	"events.md":       "NotOffered Subscribed SubscriptionFailed",
	"kubernetes-events.md": `AccountRemains Adopted BMCCriticalEvent BMCSecretReplaced DiscoveryTimedOut IgnitionWarning LateIn MaintenanceEnded MaintenanceRequested MaintenanceStarted Moved
		NearestReset OperationDone OperationFailed OperationOutcomeUnknown OperationStarted ParkDeferred Parked ParkedOperationDropped ProbeBootBegan ProbeBooted ProbeBootedAgain Released ReplacingDefaultCredentials Retried RollbackRefused Unparked UnsupportedOperation`,
}

// noReasons are words that are spelled as reasons are.
var noReasons = []string{
	"AccountLocked", "BIOSSettingsSet", "BIOSVersionSet", "BMCSecretList", "BMCSettingsSet", "BMCVersionSet", "ConfigMap", "ConfigMapList", "CreateLimitReached", "EthernetInterfaces", "MaintenanceOrdered", "OnReset", "PasswordChangeRequired", "ResourceInUse", "ServerBootConfiguration", "ServerClaim",
	"SessionLimitExceeded",
}

// TestEveryReasonHasItsEntry, and every entry is of a reason that exists.
func TestEveryReasonHasItsEntry(t *testing.T) {
	var folders []string
	for _, pattern := range []string{"../../api/*/v1alpha1", "../controller/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, found...)
	}
	folders = slices.DeleteFunc(folders, func(folder string) bool { return filepath.Base(folder) == "controllertest" })
	written := reasonsOf(t, folders...)
	if len(written) < 200 {
		t.Errorf("%d reasons found: is this looked for in the right folders?", len(written))
	}
	entries := map[string]string{}
	enter := func(reason, where string) {
		if before, ok := entries[reason]; ok && before != where {
			t.Errorf("%s has two entries: %s, %s", reason, before, where)
		}
		entries[reason] = where
		if _, ok := written[reason]; !ok {
			t.Errorf("%s: nobody writes %s", where, reason)
		}
	}
	for _, table := range causes {
		for _, row := range table {
			enter(row.reason, "causes")
			if row.cause == "" || row.next == "" || !strings.HasSuffix(row.cause, ".") {
				t.Errorf("%s of %s: a sentence is missing: %q, %q", row.reason, row.condition, row.cause, row.next)
			}
		}
	}
	for reason := range normal {
		enter(reason, "normal")
	}
	for _, row := range others {
		if row.next == "" || !strings.HasSuffix(row.cause, ".") {
			t.Errorf("%s of %s: a sentence is missing: %q, %q", row.reason, row.of, row.cause, row.next)
		}
		enter(row.reason, "others")
	}
	for page, reasons := range elsewhere {
		content, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range strings.Fields(reasons) {
			enter(reason, page)
			if !strings.Contains(string(content), "`"+reason+"`") {
				t.Errorf("docs/%s does not say what %s is", page, reason)
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(written)) {
		if _, ok := entries[reason]; !ok && !slices.Contains(noReasons, reason) {
			t.Errorf("%s: %s has no entry: give it a row in causes or others, or name it in normal", written[reason], reason)
		}
	}
	for _, name := range noReasons {
		if _, ok := written[name]; !ok || entries[name] != "" {
			t.Errorf("%s is no longer said, or is a reason", name)
		}
	}
}
