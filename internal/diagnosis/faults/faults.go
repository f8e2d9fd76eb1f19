package faults

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Manager is the namespace of what boots the probe.
const Manager = "farrier-system"

// UUID is that of the machine of which the faults are.
const UUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

// Noon is when somebody asks.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Says is a condition that has stood for twelve minutes.
func Says(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(Noon.Add(-12 * time.Minute))}}
}

// Rack are facts about one server with a BMC at which nothing is wrong.
func Rack(change func(*diagnosis.Facts)) *diagnosis.Facts {
	f := &diagnosis.Facts{Now: Noon, Server: &metalv1.Server{}, BMC: &metalv1.BMC{}}
	f.Server.Name, f.BMC.Name = "node-7", "bmc-7"
	f.Server.Spec.SystemUUID = UUID
	f.Server.Status.State, f.Server.Status.PowerState = metalv1.ServerStateAvailable, metalv1.PowerStateOff
	f.BMC.Spec.Access = &metalv1.InlineEndpoint{IP: "10.0.0.7"}
	f.BMC.Spec.BMCSecretRef.Name = "secret-7"
	change(f)
	return f
}

// Booting are facts about a server whose machine was switched on so long ago, and has had answers of these kinds since.
func Booting(on time.Duration, steps ...bootview.DeliveryKind) *diagnosis.Facts {
	return Rack(func(f *diagnosis.Facts) {
		ordered, started := Noon.Add(-on-time.Minute), Noon.Add(-on)
		f.Config = &metalv1.ServerBootConfiguration{}
		f.Config.Namespace, f.Config.Name = "default", "web"
		f.Config.Spec.Image, f.Config.Spec.IgnitionSecretRef = "registry.example.org/os:1", &metalv1.LocalObjectReference{Name: "ignition"}
		f.Config.Annotations = map[string]string{metalv1.AnnotationBootAttempt: (&bootattempt.Attempt{ID: "b007", Number: 1, Ordered: &ordered, Off: &ordered, Started: &started}).String()}
		boot := bootview.Boot{Attempt: "b007"}
		for i, kind := range steps {
			at := started.Add(time.Duration(i+1) * time.Second)
			boot.Steps = append(boot.Steps, bootview.Step{Kind: kind, Addr: "10.0.0.107", Status: 200, First: at, Last: at, Count: 1})
		}
		f.Boots = []bootview.Boot{boot}
		f.Server.Status.State, f.Server.Status.PowerState = metalv1.ServerStateReserved, metalv1.PowerStateOn
	})
}

var upToKernel = []bootview.DeliveryKind{bootview.DeliveredBoot, bootview.DeliveredProgram, bootview.DeliveredChainload, bootview.DeliveredScript, bootview.DeliveredArtifact}

// Fault is what goes wrong often: its facts, and what an answer says first.
type Fault struct {
	Facts    *diagnosis.Facts
	Reason   string
	Standing diagnosis.Standing
	// Says is in the first two lines of the answer.
	Says []string
}

// All are faults by what went wrong.
var All = map[string]Fault{
	"wrong BMC password": {
		Rack(func(f *diagnosis.Facts) {
			f.BMC.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "401")
			f.Server.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "401")
		}), metalv1.ReasonAuthenticationFailed, diagnosis.Trouble, []string{"BMC bmc-7 at 10.0.0.7 refuses the user name or the password of BMCSecret secret-7.", "Write the right user name and password"},
	},
	"wrong password of an inline BMC": {
		Rack(func(f *diagnosis.Facts) {
			f.BMC = nil
			f.Server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.8"}
			f.Server.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "401")
		}), metalv1.ReasonAuthenticationFailed, diagnosis.Trouble, []string{"The BMC of Server node-7 at 10.0.0.8 refuses"},
	},
	"hung BMC": {
		Rack(func(f *diagnosis.Facts) {
			f.BMC.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonConnectionFailed, "no answer in time")
		}), metalv1.ReasonConnectionFailed, diagnosis.Trouble, []string{"BMC bmc-7 at 10.0.0.7 does not answer.", "restart it"},
	},
	"missing image layer": {
		Change(Booting(time.Minute), func(f *diagnosis.Facts) {
			f.Config.Status.Conditions = Says(metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonValidationFailed, "no kernel layer")
		}), metalv1.ReasonValidationFailed, diagnosis.Trouble, []string{"Image registry.example.org/os:1 lacks a layer that a machine boots from: no kernel layer.", "Push an image"},
	},
	"no first request": {
		Booting(25 * time.Minute), diagnosis.ReasonNoRequest, diagnosis.Trouble, []string{"has asked for nothing since, neither DHCP nor the boot server.", "Next: Look at its console"},
	},
	"no first request yet": {
		Booting(time.Minute), diagnosis.ReasonNoRequest, diagnosis.Waiting, []string{"has asked for nothing since, neither DHCP nor the boot server.", "Next: Wait 9m more."},
	},
	"no script": {
		Booting(25*time.Minute, upToKernel[:3]...), diagnosis.ReasonNoScript, diagnosis.Trouble, []string{"never asked for its boot script"},
	},
	"no image": {
		Booting(25*time.Minute, upToKernel[:4]...), diagnosis.ReasonNoImage, diagnosis.Trouble, []string{"has not fetched the image"},
	},
	"no ignition fetched": {
		Booting(25*time.Minute, upToKernel...), diagnosis.ReasonNoIgnition, diagnosis.Trouble, []string{"has fetched its image, and has not fetched its ignition.", "does the kernel start"},
	},
	"ignition refused": {
		Change(Booting(25*time.Minute, upToKernel...), func(f *diagnosis.Facts) {
			refused := bootview.Step{Kind: bootview.DeliveredIgnition, Status: 403, First: Noon, Last: Noon, Count: 1}
			f.Boots[0].Steps = append(f.Boots[0].Steps, refused)
		}), diagnosis.ReasonStepRefused, diagnosis.Trouble, []string{"asked for the ignition and got 403 Forbidden."},
	},
	"probe silent": {
		Change(Booting(25*time.Minute, append(upToKernel[:5:5], bootview.DeliveredIgnition)...), func(f *diagnosis.Facts) {
			f.OfProbe, f.Config.Namespace, f.Config.Name = true, Manager, f.Server.Name
		}),
		diagnosis.ReasonNoReport, diagnosis.Trouble, []string{"The probe runs on the machine of Server node-7, and has not reported.", "what the probe says"},
	},
	"discovery given up before the first request": {
		Rack(func(f *diagnosis.Facts) {
			f.Server.Status.Conditions = append(Says(metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed", "Discovery failed 3 times"), Says(metalv1.ConditionDiscovered, metav1.ConditionFalse, "TimedOut", "in time")...)
		}), diagnosis.ReasonNoRequest, diagnosis.Trouble, []string{"has asked for nothing since", "operation=retry"},
	},
	"disk that cannot be wiped": {
		Rack(func(f *diagnosis.Facts) {
			f.Server.Status.Conditions = append(Says(metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", ""), Says(metalv1.ConditionCleaned, metav1.ConditionFalse, metalv1.ReasonCleanupFailed, "1 disk not clean: /dev/sda (S1): input/output error")...)
		}), metalv1.ReasonCleanupFailed, diagnosis.Trouble, []string{"Server node-7 could not be cleaned: 1 disk not clean: /dev/sda (S1): input/output error.", "kubectl annotate server node-7 metal.ironcore.dev/operation=retry"},
	},
	"claim without match": {
		claimed(func(f *diagnosis.Facts) {
			f.Claim.Status.Conditions = Says(metalv1.ConditionBound, metav1.ConditionFalse, metalv1.ReasonNoMatchingServer, "matches none of 2 Servers")
			f.Claim.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a", "size": "big"}}
			f.Servers = []metalv1.Server{{}, {}}
			f.Servers[0].Name, f.Servers[1].Name, f.Servers[1].Labels = "node-1", "node-2", map[string]string{"rack": "a", "size": "small"}
		}), metalv1.ReasonNoMatchingServer, diagnosis.Trouble, []string{"No Server matches the selector of ServerClaim default/web.", "Correct spec.serverSelector"},
	},
	"two assignments for one machine": {
		&diagnosis.Facts{Now: Noon, Asked: UUID, Candidates: []profile.Candidate{{Assignment: "default/a"}, {Assignment: "default/b", Conflict: "Duplicate", Peers: []string{"default/a"}}}},
		"Duplicate", diagnosis.Trouble, []string{"Two Assignments select this machine: it gets default/a, and default/b yields to it (Duplicate).", "Delete one of them"},
	},
	"registry away": {
		Change(Booting(time.Minute), func(f *diagnosis.Facts) {
			f.Config.Status.Conditions = Says(metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonRegistryUnreachable, "refused")
		}), metalv1.ReasonRegistryUnreachable, diagnosis.Trouble, []string{"The registry of image registry.example.org/os:1 does not answer, so Server node-7 cannot boot.", "Bring the registry back"},
	},
	"registry away while the machine boots": {
		Change(Booting(25*time.Minute, upToKernel[:4]...), func(f *diagnosis.Facts) {
			f.Boots[0].Steps = append(f.Boots[0].Steps, bootview.Step{Kind: bootview.DeliveredArtifact, Status: 502, First: Noon, Last: Noon, Count: 1})
		}), diagnosis.ReasonStepRefused, diagnosis.Trouble, []string{"asked for a layer of its image and got 502 Bad Gateway."},
	},
	"a machine that is like no Server": {
		&diagnosis.Facts{Now: Noon, Asked: UUID, Unknown: asked(UUID, "")}, diagnosis.ReasonUnknownMachine, diagnosis.Trouble, []string{"no Server is like it", "Make an Endpoint"},
	},
	"a machine that says its UUID in another byte order": {
		&diagnosis.Facts{Now: Noon, Asked: UUID, Unknown: asked("44454c4c-4300-1035-8052-b7c04f4e4d32", ""), Servers: []metalv1.Server{{}, *Rack(func(*diagnosis.Facts) {}).Server}},
		diagnosis.ReasonUUIDSwapped, diagnosis.Trouble, []string{"the UUID of Server node-7 in another byte order"},
	},
	"another port of a known card": {
		&diagnosis.Facts{Now: Noon, Asked: "52:54:00:12:34:57", Unknown: asked("", "52:54:00:12:34:57"), Servers: []metalv1.Server{withMAC("52:54:00:12:34:56")}},
		diagnosis.ReasonOtherIdentity, diagnosis.Trouble, []string{"the closest is Server node-7, which differs in the last byte of a MAC address: 52:54:00:12:34:56"},
	},
	"a machine that never asked": {
		&diagnosis.Facts{Now: Noon, Asked: UUID}, diagnosis.ReasonNeverAsked, diagnosis.Trouble, []string{"it has asked the boot server for nothing within the last day", "does it boot from the network?"},
	},
	"held without an image": {Rack(func(f *diagnosis.Facts) {
		f.Server.Status.State = metalv1.ServerStateReserved
		f.Claim = &metalv1.ServerClaim{}
		f.Claim.Namespace, f.Claim.Name = "default", "hold"
		f.Claim.Status.Conditions = Says(metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationError", "spec.image is empty")
		f.Config = &metalv1.ServerBootConfiguration{}
		f.Config.Namespace, f.Config.Name = "default", "hold"
		f.Config.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, "Error", "spec.image is empty")
	}), diagnosis.ReasonFine, diagnosis.Fine, []string{"Nothing is wrong with Server node-7: ServerClaim default/hold holds it without an image"}},
	"nothing wrong": {Rack(func(*diagnosis.Facts) {}), diagnosis.ReasonFine, diagnosis.Fine, []string{"Nothing is wrong with Server node-7: it is Available, and its machine is Off.", "Next: Nothing."}},
	"not ready for a reason of another version": {
		Rack(func(f *diagnosis.Facts) {
			f.Server.Status.Conditions = Says(metalv1.ConditionReady, metav1.ConditionFalse, "FromTheFuture", "words")
		}), "FromTheFuture", diagnosis.Trouble, []string{"Server node-7 is not Ready: FromTheFuture: words", "Look at the log"},
	},
	"in error without a word": {
		Rack(func(f *diagnosis.Facts) { f.Server.Status.State = metalv1.ServerStateError }), "Error", diagnosis.Trouble, []string{"needs a person", "operation=retry"},
	},
	"a claim that has its server switched off": {
		Change(Booting(25*time.Minute), func(f *diagnosis.Facts) {
			f.Claim = &metalv1.ServerClaim{}
			f.Claim.Spec.Power = metalv1.PowerOff
		}), diagnosis.ReasonFine, diagnosis.Fine, []string{"Nothing is wrong with Server node-7"},
	},
	"a machine that has told that it runs": {
		Change(Booting(25*time.Minute), func(f *diagnosis.Facts) {
			f.Config.Status.BootStateAttempt, f.Config.Status.Conditions = "b007", Says(metalv1.ConditionBootStateReceived, metav1.ConditionTrue, "Booted", "")
		}), diagnosis.ReasonFine, diagnosis.Fine, []string{"Nothing is wrong"},
	},
	"booted": {
		Booting(25*time.Minute, append(upToKernel[:5:5], bootview.DeliveredIgnition)...), diagnosis.ReasonFine, diagnosis.Fine, []string{"Nothing is wrong"},
	},
	"parked": {
		Rack(func(f *diagnosis.Facts) { f.Server.Annotations = map[string]string{metalv1.AnnotationParked: "true"} }), "Parked", diagnosis.LeftAlone, []string{"is parked", "operation=unpark"},
	},
}

// Change changes facts.
func Change(f *diagnosis.Facts, how func(*diagnosis.Facts)) *diagnosis.Facts {
	how(f)
	return f
}

func claimed(how func(*diagnosis.Facts)) *diagnosis.Facts {
	f := &diagnosis.Facts{Now: Noon, Claim: &metalv1.ServerClaim{}}
	f.Claim.Namespace, f.Claim.Name = "default", "web"
	how(f)
	return f
}

func asked(uuid, mac string) []bootview.UnknownMachine {
	return []bootview.UnknownMachine{{UUID: uuid, MAC: mac, Address: "10.0.0.99", Path: "/ipxe", Times: 3, First: Noon.Add(-time.Hour), Last: Noon.Add(-time.Minute)}}
}

func withMAC(mac string) metalv1.Server {
	s := *Rack(func(*diagnosis.Facts) {}).Server
	s.Status.NetworkInterfaces = []metalv1.NetworkInterface{{MACAddress: mac}}
	return s
}
