package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/logbook"
	"github.com/farrier-dev/farrier/internal/place"
)

var now = time.Date(2026, 3, 4, 15, 6, 7, 0, time.UTC)

const managerNamespace = "farrier-system"

func before(d time.Duration) metav1.Time { return metav1.Time{Time: now.Add(-d)} }

func condition(kind string, status metav1.ConditionStatus, reason, message string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: before(since)}
}

// serverOf is a server with all that the API has about one.
func serverOf(i int, state metalv1.ServerState) *metalv1.Server {
	memory, disk := resource.MustParse("256Gi"), resource.MustParse("3840755982336")
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%d", i), UID: types.UID(fmt.Sprintf("server-%d", i)), CreationTimestamp: before(72 * time.Hour),
		Labels: map[string]string{place.LabelZone: fmt.Sprintf("fra-%d", 1+i/8), place.LabelRack: fmt.Sprintf("rack-%d", 1+i/4), place.LabelUnit: fmt.Sprint(4 + 2*(i%4))},
	}}
	s.Spec = metalv1.ServerSpec{SystemUUID: fmt.Sprintf("4c4c4544-0038-4a10-8052-%012x", i), BMCRef: &metalv1.LocalObjectReference{Name: fmt.Sprintf("bmc-%d", i)}}
	s.Status = metalv1.ServerStatus{
		State: state, PowerState: metalv1.PowerStateOff, Manufacturer: "Dell Inc.", Model: "PowerEdge R650", SerialNumber: fmt.Sprintf("8J2K%03d", i), BIOSVersion: "1.13.2", TotalSystemMemory: &memory,
		Processors: []metalv1.Processor{{ID: "CPU.1", Manufacturer: "Intel", Model: "Xeon Gold 6338", TotalCores: 32}, {ID: "CPU.2", Manufacturer: "Intel", Model: "Xeon Gold 6338", TotalCores: 32}},
		NetworkInterfaces: []metalv1.NetworkInterface{
			{Name: "eno1", MACAddress: fmt.Sprintf("52:54:00:12:00:%02x", i%256), CarrierStatus: "up", IPs: []string{fmt.Sprintf("10.20.%d.%d", i/200, 10+i%200)}, Neighbors: []metalv1.LLDPNeighbor{{SystemName: "leaf-3", PortID: fmt.Sprintf("Ethernet%d", i), MACAddress: "00:1c:73:aa:bb:01", PortDescription: "to rack 1"}}},
			{Name: "eno2", MACAddress: fmt.Sprintf("52:54:00:13:00:%02x", i%256), CarrierStatus: "down"},
		},
		Storages:   []metalv1.Storage{{Name: "PERC H755", State: "Enabled", Drives: []metalv1.StorageDrive{{Name: "Disk 0", MediaType: "SSD", Type: "NVMe", Capacity: &disk, Vendor: "Samsung", Model: "PM9A3", SerialNumber: "S5XXNE0R1", State: "Enabled"}}}},
		Conditions: []metav1.Condition{condition("Discovered", "True", "Read", "the probe has reported", 71*time.Hour), condition("Ready", "True", "Ready", "", 70*time.Hour)},
	}
	return s
}

func bmcOf(i int) *metalv1.BMC {
	b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bmc-%d", i)}}
	b.Spec = metalv1.BMCSpec{BMCSecretRef: metalv1.LocalObjectReference{Name: "idrac"}, Protocol: metalv1.Protocol{Name: metalv1.ProtocolRedfish, Port: 443}}
	b.Status = metalv1.BMCStatus{IP: fmt.Sprintf("10.9.0.%d", 10+i), MACAddress: fmt.Sprintf("d0:8e:79:00:00:%02x", i%256), Manufacturer: "Dell Inc.", Model: "iDRAC9", FirmwareVersion: "7.10.30.00", State: metalv1.BMCStateEnabled}
	b.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionReady, "True", "Connected", "", 71*time.Hour), condition(metalv1.ConditionSecure, "True", metalv1.ReasonCertificateAccepted, "TLS 1.3", 71*time.Hour)}
	return b
}

func claimOf(name, server string, bound bool) *metalv1.ServerClaim {
	c := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("claim-" + name), CreationTimestamp: before(40 * time.Hour)}}
	c.Spec = metalv1.ServerClaimSpec{Power: metalv1.PowerOn, Image: "ghcr.io/acme/flatcar:4081.2", IgnitionSecretRef: &metalv1.LocalObjectReference{Name: "worker"}}
	if bound {
		c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: server}
		c.Status.Phase = metalv1.ServerClaimPhaseBound
		c.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionBound, "True", metalv1.ReasonAllocated, "", 40*time.Hour)}
	} else {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"gpu": "a100"}}
		c.Status.Phase = metalv1.ServerClaimPhaseUnbound
		c.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionBound, "False", metalv1.ReasonNoMatchingServer, "no server has label gpu=a100", 30*time.Minute)}
	}
	return c
}

// bootOf is the boot configuration of a bound server, ordered a while ago.
func bootOf(server, namespace string, ordered time.Duration, booted bool) *metalv1.ServerBootConfiguration {
	at := now.Add(-ordered)
	on := at.Add(25 * time.Second)
	attempt := bootattempt.Attempt{ID: "0123456789abcdef" + server, Number: 1, Ordered: &at, Started: &on}
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: server, UID: types.UID("boot-" + server), CreationTimestamp: before(ordered), Annotations: map[string]string{metalv1.AnnotationBootAttempt: attempt.String()}}}
	c.Spec = metalv1.ServerBootConfigurationSpec{ServerRef: metalv1.LocalObjectReference{Name: server}, Image: "ghcr.io/acme/flatcar:4081.2", IgnitionSecretRef: &metalv1.LocalObjectReference{Name: "worker"}}
	c.Status = metalv1.ServerBootConfigurationStatus{State: "Ready", ImageDigest: "sha256:" + strings.Repeat("5e", 32), DeliveryAttempt: attempt.ID}
	if booted {
		c.Status.BootStateAttempt = attempt.ID
		for i, kind := range []string{metalv1.ConditionIPXEScriptFetched, metalv1.ConditionIgnitionDataFetched, metalv1.ConditionBootStateReceived} {
			c.Status.Conditions = append(c.Status.Conditions, condition(kind, "True", "Delivered", "", ordered-time.Duration(60+20*i)*time.Second))
		}
	}
	return c
}

// fleet is three racks with a server in every state, faults, claims and images.
func fleet(t testing.TB) Source {
	t.Helper()
	var objects []client.Object
	all := []metalv1.ServerState{"Reserved", "Reserved", "Available", "Available", "Discovery", "Cleanup", "Error", "Maintenance", "Reserved", "Parked", "Released", "Initial"}
	for i, state := range all {
		s, b := serverOf(i, state), bmcOf(i)
		switch i {
		case 0, 1, 8:
			name := map[int]string{0: "web", 1: "db", 8: "cache"}[i]
			s.Status.PowerState, s.Spec.ServerClaimRef = metalv1.PowerStateOn, &metalv1.ImmutableObjectReference{Namespace: "default", Name: name}
			s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "default", Name: s.Name}
			objects = append(objects, claimOf(name, s.Name, true), bootOf(s.Name, "default", time.Duration(12+7*i)*time.Minute/2, i != 1))
		case 3:
			s.Spec.Unclaimable = true
		case 5:
			s.Status.PowerState = metalv1.PowerStateOn
			s.Status.Conditions = append(s.Status.Conditions, condition(metalv1.ConditionCleaned, "False", "Cleaning", "the probe wipes 1 disk", 4*time.Minute))
		case 6:
			s.Annotations = map[string]string{metalv1.AnnotationClaimedBy: "claim-old"}
			s.Status.Conditions = append(s.Status.Conditions, condition(metalv1.ConditionCleaned, "False", metalv1.ReasonCleanupFailed, "1 disk not clean: /dev/sdb (WD-1234): input/output error", 2*time.Hour))
			objects = append(objects, cleanupOf(t, s.Name))
		case 7:
			s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "default", Name: "firmware"}
		case 9:
			s.Annotations = map[string]string{metalv1.AnnotationParked: metalv1.AnnotationTrue}
		case 11:
			b.Status.Conditions = []metav1.Condition{condition(metalv1.ConditionReady, "False", "AuthenticationFailed", "401 Unauthorized", 17*time.Minute)}
			b.Status.State = metalv1.BMCStateError
		}
		objects = append(objects, s, b)
	}
	objects = append(objects, claimOf("training", "", false))
	return sourceOf(t, objects...)
}

func cleanupOf(t testing.TB, server string) client.Object {
	t.Helper()
	obj, err := machinerecord.Cleanup{
		Server: server, Claim: "claim-old", Mode: inspection.CleanFull, Started: now.Add(-2*time.Hour - 9*time.Minute), Ended: now.Add(-2 * time.Hour), Outcome: machinerecord.NotClean,
		Summary: "1 disk not clean: /dev/sdb (WD-1234): input/output error", Disks: []inspection.DiskCleanup{
			{Path: "/dev/nvme0n1", Serial: "S5XXNE0R1", Method: "nvme-format-crypto", Seconds: 3.2, Result: inspection.CleanedOK},
			{Path: "/dev/sdb", Serial: "WD-1234", Method: "overwrite", Seconds: 512, Result: inspection.CleanedFailed, Error: "input/output error"},
		},
	}.Object(managerNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// eventless is an API without Events: the fake one cannot list those of one object.
type eventless struct{ client.Reader }

func (e eventless) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, ok := into.(*corev1.EventList); ok {
		return nil
	}
	return e.Reader.List(ctx, into, options...)
}

func sourceOf(t testing.TB, objects ...client.Object) Source {
	t.Helper()
	return Source{
		Objects: eventless{controllertest.NewAPI(t, objects...)}, Now: now, Manager: managerNamespace,
		Boots: func(_ context.Context, uuid string) (operator.Boots, error) {
			if !strings.HasSuffix(uuid, "00") {
				return operator.Boots{SystemUUID: uuid}, nil
			}
			at := now.Add(-5*time.Minute - 20*time.Second)
			return operator.Boots{SystemUUID: uuid, Boots: []bootview.Boot{{Attempt: "0123456789abcdefnode-0", Steps: []bootview.Step{
				{Kind: bootview.DeliveredBoot, Addr: "10.20.0.10", Status: http.StatusOK, Bytes: 342, First: at, Last: at, Count: 1},
				{Kind: bootview.DeliveredScript, Addr: "10.20.0.10", Status: http.StatusOK, Bytes: 812, First: at.Add(4 * time.Second), Last: at.Add(4 * time.Second), Count: 1},
				{Kind: bootview.DeliveredArtifact, What: "squashfs", Addr: "10.20.0.10", Status: http.StatusOK, Bytes: 412 << 20, First: at.Add(9 * time.Second), Last: at.Add(30 * time.Second), Count: 3},
				{Kind: bootview.DeliveredIgnition, Addr: "10.20.0.10", Status: http.StatusOK, Bytes: 5210, First: at.Add(51 * time.Second), Last: at.Add(51 * time.Second), Count: 1},
			}}}}, nil
		},
		Logbook: func(context.Context, string) ([]logbook.Entry, error) {
			return []logbook.Entry{
				{Time: now.Add(-6 * time.Minute), Kind: logbook.KindCommand, What: "power", Detail: "POST Reset ForceOff", Status: 503, Reason: "Busy", Took: 1200 * time.Millisecond, Bad: true},
				{Time: now.Add(-6*time.Minute + 8*time.Second), Kind: logbook.KindCommand, What: "power", Detail: "POST Reset On", Status: 204, Took: 830 * time.Millisecond},
				{Time: now.Add(-40 * time.Hour), Kind: logbook.KindState, What: "Reserved", Object: "Server", Detail: "before Available"},
			}, nil
		},
		Unknown: func(context.Context) ([]operator.UnknownMachine, error) {
			return []operator.UnknownMachine{{Address: "10.20.0.99", MAC: "52:54:00:aa:bb:cc", UUID: "4c4c4544-0038-4a10-8052-00000000ffff", Serial: "8J2K999", Architecture: "x86-64 UEFI", Path: "/ipxe", Last: now.Add(-time.Minute), Times: 12}}, nil
		},
		Cached: func(context.Context) ([]CachedImage, error) {
			return []CachedImage{{"ghcr.io/acme/flatcar", 3, 4, 498 << 20}, {"ghcr.io/acme/old", 3, 3, 77 << 20}, {"", 5, 5, 99 << 20}}, nil
		},
	}
}
