package diagnosis

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/bootattempt"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const uuid = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func says(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon.Add(-12 * time.Minute))}}
}

// rack are facts about one server with a BMC at which nothing is wrong.
func rack(change func(*Facts)) *Facts {
	f := &Facts{Now: noon, Server: &metalv1.Server{}, BMC: &metalv1.BMC{}}
	f.Server.Name, f.BMC.Name = "node-7", "bmc-7"
	f.Server.Spec.SystemUUID = uuid
	f.Server.Status.State, f.Server.Status.PowerState = metalv1.ServerStateAvailable, metalv1.PowerStateOff
	f.BMC.Spec.Access = &metalv1.InlineEndpoint{IP: "10.0.0.7"}
	f.BMC.Spec.BMCSecretRef.Name = "secret-7"
	change(f)
	return f
}

// booting are facts about a server whose machine was switched on so long ago, and has had answers of these kinds since.
func booting(on time.Duration, steps ...bootview.DeliveryKind) *Facts {
	return rack(func(f *Facts) {
		ordered, started := noon.Add(-on-time.Minute), noon.Add(-on)
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

// faults are what goes wrong most often, each with what the first two lines of the answer say.
var faults = map[string]struct {
	facts    *Facts
	reason   string
	standing Standing
	want     []string
}{
	"wrong BMC password": {
		rack(func(f *Facts) {
			f.BMC.Status.Conditions = says(metalv1.ConditionReady, no, metalv1.ReasonAuthenticationFailed, "401")
			f.Server.Status.Conditions = says(metalv1.ConditionReady, no, metalv1.ReasonAuthenticationFailed, "401")
		}), metalv1.ReasonAuthenticationFailed, Trouble, []string{"BMC bmc-7 at 10.0.0.7 refuses the user name or the password of BMCSecret secret-7.", "Write the right user name and password"},
	},
	"wrong password of an inline BMC": {
		rack(func(f *Facts) {
			f.BMC = nil
			f.Server.Spec.BMC = &metalv1.BMCAccess{Address: "10.0.0.8"}
			f.Server.Status.Conditions = says(metalv1.ConditionReady, no, metalv1.ReasonAuthenticationFailed, "401")
		}), metalv1.ReasonAuthenticationFailed, Trouble, []string{"The BMC of Server node-7 at 10.0.0.8 refuses"},
	},
	"hung BMC": {
		rack(func(f *Facts) {
			f.BMC.Status.Conditions = says(metalv1.ConditionReady, no, metalv1.ReasonConnectionFailed, "no answer in time")
		}), metalv1.ReasonConnectionFailed, Trouble, []string{"BMC bmc-7 at 10.0.0.7 does not answer.", "restart it"},
	},
	"missing image layer": {
		change(booting(time.Minute), func(f *Facts) {
			f.Config.Status.Conditions = says(metalv1.ConditionImageValidation, no, metalv1.ReasonValidationFailed, "no kernel layer")
		}), metalv1.ReasonValidationFailed, Trouble, []string{"Image registry.example.org/os:1 lacks a layer that a machine boots from: no kernel layer.", "Push an image"},
	},
	"no first request": {
		booting(25 * time.Minute), ReasonNoRequest, Trouble, []string{"has asked for nothing since, neither DHCP nor the boot server.", "Next: Look at its console"},
	},
	"no first request yet": {
		booting(time.Minute), ReasonNoRequest, Waiting, []string{"has asked for nothing since, neither DHCP nor the boot server.", "Next: Wait 9m more."},
	},
	"no script": {
		booting(25*time.Minute, upToKernel[:3]...), ReasonNoScript, Trouble, []string{"never asked for its boot script"},
	},
	"no image": {
		booting(25*time.Minute, upToKernel[:4]...), ReasonNoImage, Trouble, []string{"has not fetched the image"},
	},
	"no ignition fetched": {
		booting(25*time.Minute, upToKernel...), ReasonNoIgnition, Trouble, []string{"has fetched its image, and has not fetched its ignition.", "does the kernel start"},
	},
	"ignition refused": {
		change(booting(25*time.Minute, upToKernel...), func(f *Facts) {
			refused := bootview.Step{Kind: bootview.DeliveredIgnition, Status: 403, First: noon, Last: noon, Count: 1}
			f.Boots[0].Steps = append(f.Boots[0].Steps, refused)
		}), ReasonStepRefused, Trouble, []string{"asked for the ignition and got 403 Forbidden."},
	},
	"probe silent": {
		change(booting(25*time.Minute, append(upToKernel[:5:5], bootview.DeliveredIgnition)...), func(f *Facts) { f.OfProbe = true }),
		ReasonNoReport, Trouble, []string{"The probe runs on the machine of Server node-7, and has not reported.", "what the probe says"},
	},
	"discovery given up before the first request": {
		rack(func(f *Facts) {
			f.Server.Status.Conditions = append(says(metalv1.ConditionReady, no, "DiscoveryFailed", "Discovery failed 3 times"), says(metalv1.ConditionDiscovered, no, "TimedOut", "in time")...)
		}), ReasonNoRequest, Trouble, []string{"has asked for nothing since", "operation=retry"},
	},
	"disk that cannot be wiped": {
		rack(func(f *Facts) {
			f.Server.Status.Conditions = append(says(metalv1.ConditionReady, no, "NotClean", ""), says(metalv1.ConditionCleaned, no, metalv1.ReasonCleanupFailed, "1 disk not clean: /dev/sda (S1): input/output error")...)
		}), metalv1.ReasonCleanupFailed, Trouble, []string{"Server node-7 could not be cleaned: 1 disk not clean: /dev/sda (S1): input/output error.", "kubectl annotate server node-7 metal.ironcore.dev/operation=retry"},
	},
	"claim without match": {
		claimed(func(f *Facts) {
			f.Claim.Status.Conditions = says(metalv1.ConditionBound, no, metalv1.ReasonNoMatchingServer, "matches none of 2 Servers")
			f.Claim.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a", "size": "big"}}
			f.Servers = []metalv1.Server{{}, {}}
			f.Servers[0].Name, f.Servers[1].Name, f.Servers[1].Labels = "node-1", "node-2", map[string]string{"rack": "a", "size": "small"}
		}), metalv1.ReasonNoMatchingServer, Trouble, []string{"No Server matches the selector of ServerClaim default/web.", "Correct spec.serverSelector"},
	},
	"two assignments for one machine": {
		&Facts{Now: noon, Asked: uuid, Candidates: []profile.Candidate{{Assignment: "default/a"}, {Assignment: "default/b", Conflict: "Duplicate", Peers: []string{"default/a"}}}},
		"Duplicate", Trouble, []string{"Two Assignments select this machine: it gets default/a, and default/b yields to it (Duplicate).", "Delete one of them"},
	},
	"registry away": {
		change(booting(time.Minute), func(f *Facts) {
			f.Config.Status.Conditions = says(metalv1.ConditionImageValidation, no, metalv1.ReasonRegistryUnreachable, "refused")
		}), metalv1.ReasonRegistryUnreachable, Trouble, []string{"The registry of image registry.example.org/os:1 does not answer, so Server node-7 cannot boot.", "Bring the registry back"},
	},
	"registry away while the machine boots": {
		change(booting(25*time.Minute, upToKernel[:4]...), func(f *Facts) {
			f.Boots[0].Steps = append(f.Boots[0].Steps, bootview.Step{Kind: bootview.DeliveredArtifact, Status: 502, First: noon, Last: noon, Count: 1})
		}), ReasonStepRefused, Trouble, []string{"asked for a layer of its image and got 502 Bad Gateway."},
	},
	"a machine that is like no Server": {
		&Facts{Now: noon, Asked: uuid, Unknown: asked(uuid, "")}, ReasonUnknownMachine, Trouble, []string{"no Server is like it", "Make an Endpoint"},
	},
	"a machine that says its UUID in another byte order": {
		&Facts{Now: noon, Asked: uuid, Unknown: asked("44454c4c-4300-1035-8052-b7c04f4e4d32", ""), Servers: []metalv1.Server{{}, *rack(func(*Facts) {}).Server}},
		ReasonUUIDSwapped, Trouble, []string{"the UUID of Server node-7 in another byte order"},
	},
	"another port of a known card": {
		&Facts{Now: noon, Asked: "52:54:00:12:34:57", Unknown: asked("", "52:54:00:12:34:57"), Servers: []metalv1.Server{withMAC("52:54:00:12:34:56")}},
		ReasonOtherIdentity, Trouble, []string{"the closest is Server node-7, which differs in the last byte of a MAC address: 52:54:00:12:34:56"},
	},
	"a machine that never asked": {
		&Facts{Now: noon, Asked: uuid}, ReasonNeverAsked, Trouble, []string{"it has asked the boot server for nothing within the last day", "does it boot from the network?"},
	},
	"nothing wrong": {rack(func(*Facts) {}), ReasonFine, Fine, []string{"Nothing is wrong with Server node-7: it is Available, and its machine is Off.", "Next: Nothing."}},
	"not ready for a reason of another version": {
		rack(func(f *Facts) {
			f.Server.Status.Conditions = says(metalv1.ConditionReady, no, "FromTheFuture", "words")
		}), "FromTheFuture", Trouble, []string{"Server node-7 is not Ready: FromTheFuture: words", "Look at the log"},
	},
	"in error without a word": {
		rack(func(f *Facts) { f.Server.Status.State = metalv1.ServerStateError }), "Error", Trouble, []string{"needs a person", "operation=retry"},
	},
	"a claim that has its server switched off": {
		change(booting(25*time.Minute), func(f *Facts) {
			f.Claim = &metalv1.ServerClaim{}
			f.Claim.Spec.Power = metalv1.PowerOff
		}), ReasonFine, Fine, []string{"Nothing is wrong with Server node-7"},
	},
	"a machine that has told that it runs": {
		change(booting(25*time.Minute), func(f *Facts) {
			f.Config.Status.BootStateAttempt, f.Config.Status.Conditions = "b007", says(metalv1.ConditionBootStateReceived, yes, "Booted", "")
		}), ReasonFine, Fine, []string{"Nothing is wrong"},
	},
	"booted": {
		booting(25*time.Minute, append(upToKernel[:5:5], bootview.DeliveredIgnition)...), ReasonFine, Fine, []string{"Nothing is wrong"},
	},
	"parked": {
		rack(func(f *Facts) { f.Server.Annotations = map[string]string{metalv1.AnnotationParked: "true"} }), "Parked", LeftAlone, []string{"is parked", "operation=unpark"},
	},
}

func change(f *Facts, how func(*Facts)) *Facts {
	how(f)
	return f
}

func claimed(how func(*Facts)) *Facts {
	f := &Facts{Now: noon, Claim: &metalv1.ServerClaim{}}
	f.Claim.Namespace, f.Claim.Name = "default", "web"
	how(f)
	return f
}

func asked(uuid, mac string) []bootview.UnknownMachine {
	return []bootview.UnknownMachine{{UUID: uuid, MAC: mac, Address: "10.0.0.99", Path: "/ipxe", Times: 3, First: noon.Add(-time.Hour), Last: noon.Add(-time.Minute)}}
}

func withMAC(mac string) metalv1.Server {
	s := *rack(func(*Facts) {}).Server
	s.Status.NetworkInterfaces = []metalv1.NetworkInterface{{MACAddress: mac}}
	return s
}

// TestTheFirstTwoLinesNameTheCause of every fault that is known to happen often, and what to do.
func TestTheFirstTwoLinesNameTheCause(t *testing.T) {
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			a := Explain(c.facts)
			var out bytes.Buffer
			if err := a.Print(&out, time.UTC); err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", out.String())
			lines := strings.SplitN(out.String(), "\n", 3)
			for _, want := range c.want {
				if !strings.Contains(lines[0]+"\n"+lines[1], want) {
					t.Errorf("the first two lines do not say %q", want)
				}
			}
			if a.Reason != c.reason || a.Standing != c.standing {
				t.Errorf("%s, %s, want %s, %s", a.Reason, a.Standing, c.reason, c.standing)
			}
			if strings.ContainsAny(lines[0]+lines[1], "{}") {
				t.Error("a placeholder is left")
			}
		})
	}
}

// TestWhatOutlivesTheBootServer: conditions prove steps that its memory does not have any more, and an earlier attempt's prove nothing.
func TestWhatOutlivesTheBootServer(t *testing.T) {
	fetched := func(attempt string) *Facts {
		return change(booting(25*time.Minute), func(f *Facts) {
			f.Boots, f.Config.Status.DeliveryAttempt = nil, attempt
			f.Config.Status.Conditions = says(bootv1.ConditionKernelFetched, yes, "Delivered", "")
		})
	}
	if a := Explain(fetched("b007")); a.Reason != ReasonNoIgnition || a.Missing.Overdue != Duration(2*time.Minute) {
		t.Errorf("%+v", a)
	}
	if a := Explain(fetched("0ther")); a.Reason != ReasonNoRequest {
		t.Errorf("of another attempt: %+v", a)
	}
}

// TestWhatOthersWroteIsHarmless: a registry, a BMC and a machine may say what does something to a terminal.
func TestWhatOthersWroteIsHarmless(t *testing.T) {
	evil := "\x1b]0;evil\x07\u202etxt\n"
	f := rack(func(f *Facts) {
		f.BMC.Status.Conditions = says(metalv1.ConditionReady, no, metalv1.ReasonConnectionFailed, evil)
		f.BMC.Spec.Access.IP = evil
		f.Boots = []bootview.Boot{{Attempt: evil, Steps: []bootview.Step{{Kind: bootview.DeliveryKind(evil), What: evil, Addr: evil}}}}
		f.NotRead = []string{evil}
	})
	var out bytes.Buffer
	a := Explain(f)
	if err := a.Print(&out, time.UTC); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Contains(text, "\ntxt") {
		t.Errorf("%q", text)
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "8s": 8*time.Second + time.Millisecond, "4m20s": 4*time.Minute + 20*time.Second, "4m": 4 * time.Minute, "10m": 10 * time.Minute,
		"1h5m": time.Hour + 5*time.Minute + 7*time.Second, "20h0m": 20 * time.Hour, "3 days": 80 * time.Hour,
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
