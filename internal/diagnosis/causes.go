package diagnosis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds that have conditions.
const (
	kindBMC    = "BMC"
	kindServer = "Server"
	kindConfig = "ServerBootConfiguration"
	kindClaim  = "ServerClaim"
)

// cause is what is known of a reason. Its sentences name things by placeholders (names.go).
type cause struct {
	condition, reason string
	// status is that of a condition with this reason that means trouble.
	status metav1.ConditionStatus
	// waits says that it passes by itself, usually.
	waits  bool
	weight weight
	cause  string
	next   string
	usual  []string
}

// weight says what a cause is to others.
type weight int

const (
	// explains: the rest follows from it.
	explains weight = iota
	// beside: it explains nothing else, and counts where nothing else is wrong.
	beside
	// note: it is worth saying, and never what somebody asks about.
	note
)

// causes has the table of each kind. The first row that holds counts.
var causes = map[string][]cause{kindBMC: bmcCauses, kindServer: serverCauses, kindConfig: configCauses, kindClaim: claimCauses}

// normal are reasons that need no explanation: nothing is wrong, and what is to come comes by itself.
var normal = map[string]bool{
	"Accepted": true, "Allocated": true, "Applied": true, "AsExpected": true, "AvailableAndOff": true, "BMCCreated": true, "BootConfigurationPending": true,
	"BootConfigurationReady": true, "BootOrdered": true, "Booted": true, "Booting": true, "CertificateAccepted": true, "CertificateVerified": true,
	"Cleaned": true, "Connected": true, "CredentialsRotated": true, "Delivered": true, "Enforced": true, "Followed": true, "Granted": true, "Identified": true, "Idle": true,
	"InUse": true, "Matches": true, "NoAlarm": true, "NoConflict": true, "NoSystemUUID": true, "NotABMC": true, "NotAsked": true, "NotAvailable": true,
	"NotBooted": true, "NotBound": true, "NotOff": true, "NotReported": true, "OK": true, "NothingToBoot": true, "Offered": true, "OnTime": true, "Ordered": true, "PassedThrough": true,
	"Preparing": true, "Programmed": true, "Reachable": true, "Read": true, "Ready": true, "ReportStored": true, "ResetComplete": true, "Resolved": true,
	"SelfTest": true, "Sent": true, "ShuttingDown": true, "Started": true, "Transformed": true, "UpToDate": true, "Used": true, "Validated": true, "WaitingForReport": true,
}

// find is the first row of a kind's table that its conditions meet; nil: none.
func find(kind string, conditions []metav1.Condition, of weight) (*cause, *metav1.Condition) {
	table := causes[kind]
	for i := range table {
		row := &table[i]
		if row.weight != of {
			continue
		}
		for j := range conditions { // by pointers: a page looks at every server of the fleet
			if c := &conditions[j]; c.Type == row.condition && c.Reason == row.reason && c.Status == row.status {
				return row, c
			}
		}
	}
	return nil, nil
}

// isListed reports whether the table has a row for a reason of a condition.
func isListed(kind string, c *metav1.Condition) bool {
	table := causes[kind]
	for i := range table {
		if row := &table[i]; row.condition == c.Type && row.reason == c.Reason {
			return true
		}
	}
	return false
}
