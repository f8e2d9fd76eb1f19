package cli

import (
	"bytes"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/controller/bootservers"
)

func TestPrintBootServers(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 23, 8, 0, 12, 0, time.UTC))
	condition := func(name string, is metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: name, Status: is, Reason: reason}
	}
	statuses := map[string]bootservers.Status{
		"boot-2.south.example": {Site: "south"},
		"boot-2.north.example": {Site: "north", Since: &at, CertificateExpires: &at, Conditions: []metav1.Condition{
			condition(bootservers.ConditionConnected, metav1.ConditionFalse, "Disconnected"), condition(bootservers.ConditionReady, metav1.ConditionUnknown, "NotConnected"),
			condition(bootservers.ConditionRecordsUsable, metav1.ConditionFalse, "Refused"), condition(bootservers.ConditionCertificateValid, metav1.ConditionFalse, "RenewalLate"),
		}},
		"boot-1.north.example": {Site: "north", Since: &at, CertificateExpires: &at, Conditions: []metav1.Condition{
			condition(bootservers.ConditionConnected, metav1.ConditionTrue, "Follows"), condition(bootservers.ConditionReady, metav1.ConditionFalse, "NotReady"),
		}},
	}
	var out bytes.Buffer
	if err := printBootServers(&out, listed(statuses), time.UTC); err != nil {
		t.Fatal(err)
	}
	const want = `NAME                  SITE   CONNECTED  SINCE                READY  CERTIFICATE UNTIL    PROBLEMS
boot-1.north.example  north  yes        2026-11-23 08:00:12  no     2026-11-23 08:00:12  -
boot-2.north.example  north  no         2026-11-23 08:00:12  -      2026-11-23 08:00:12  Refused,RenewalLate
boot-2.south.example  south  -          -                    -      -                    -
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := printBootServers(&out, nil, time.UTC); err != nil || out.String() != "No boot server may connect, or no manager with --boot-stream-address leads.\n" {
		t.Errorf("without boot servers: %v %q", err, out.String())
	}
}
