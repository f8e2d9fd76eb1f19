//go:build budget

package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/test/loopback"
)

// stuck has, for every controller of the product, objects of its kind that TestBudgetOfWhatIsStuck makes and that cannot come further. A
// controller that is added needs one here.
var stuck = map[string][]client.Object{
	"endpoint":                    {&metalv1.Endpoint{ObjectMeta: objectMeta("", "nobodys")}},
	"bmc":                         {&metalv1.BMC{ObjectMeta: objectMeta("", "sim-0002")}, &metalv1.BMC{ObjectMeta: objectMeta("", "away")}},
	"subscription":                {&metalv1.BMC{ObjectMeta: objectMeta("", "sim-0006")}},
	"subscription-inline":         {&metalv1.Server{ObjectMeta: objectMeta("", "inline")}},
	"server":                      {&metalv1.Server{ObjectMeta: objectMeta("", "sim-0001-system-0")}, &metalv1.Server{ObjectMeta: objectMeta("", "inline")}},
	"claim":                       {&metalv1.ServerClaim{ObjectMeta: objectMeta("default", "no-image")}, &metalv1.ServerClaim{ObjectMeta: objectMeta("default", "nowhere")}},
	"servermaintenance":           {&metalv1.ServerMaintenance{ObjectMeta: objectMeta("default", "first")}, &metalv1.ServerMaintenance{ObjectMeta: objectMeta("default", "second")}},
	"biossettings":                {&metalv1.BIOSSettings{ObjectMeta: objectMeta("", "same")}, &metalv1.BIOSSettings{ObjectMeta: objectMeta("", "lied-to")}},
	"readiness-servers":           {&metalv1.Server{ObjectMeta: objectMeta("", "sim-0004-system-0")}},
	"readiness-rules":             {&metalv1.ServerReadinessRule{ObjectMeta: objectMeta("", "one")}, &metalv1.ServerReadinessRule{ObjectMeta: objectMeta("", "other")}},
	"bootconfig":                  {&metalv1.ServerBootConfiguration{ObjectMeta: objectMeta("default", "of-nobody")}},
	"bootdelivery-IPXEBootConfig": {&bootv1.IPXEBootConfig{ObjectMeta: objectMeta("default", "no-ignition")}},
	"bootdelivery-HTTPBootConfig": {&bootv1.HTTPBootConfig{ObjectMeta: objectMeta("default", "no-ignition")}},
	"ipxe-profile":                {&ipxev1.Profile{ObjectMeta: objectMeta("default", "no-content")}},
	"ipxe-assignment":             {&ipxev1.Assignment{ObjectMeta: objectMeta("default", "no-profile")}},
	"metadata":                    {&metalv1.Server{ObjectMeta: objectMeta("", "sim-0004-system-0")}},
	"biosversion":                 {&metalv1.BIOSVersion{ObjectMeta: objectMeta("", "no-credentials")}},
	"bmcversion":                  {&metalv1.BMCVersion{ObjectMeta: objectMeta("", "no-credentials")}},
	"bmcsettings":                 {&metalv1.BMCSettings{ObjectMeta: objectMeta("", "no-config")}, &metalv1.BMCSettings{ObjectMeta: objectMeta("", "of-no-bmc")}},
	"rolloutpolicy":               {&farrierv1.RolloutPolicy{ObjectMeta: objectMeta("", "paused")}},
	"bmcuser":                     {&metalv1.BMCUser{ObjectMeta: objectMeta("", "no-such-role")}, &metalv1.BMCUser{ObjectMeta: objectMeta("", "of-no-bmc")}},
	"bmcsettingsset":              {&metalv1.BMCSettingsSet{ObjectMeta: objectMeta("", "of-nobody")}},
	"biossettingsset":             {&metalv1.BIOSSettingsSet{ObjectMeta: objectMeta("", "of-nobody")}},
	"biosversionset":              {&metalv1.BIOSVersionSet{ObjectMeta: objectMeta("", "of-nobody")}},
	"bmcversionset":               {&metalv1.BMCVersionSet{ObjectMeta: objectMeta("", "of-nobody")}},
	"biossettingsset-targets":     {&metalv1.Server{ObjectMeta: objectMeta("", "sim-0003-system-0")}},
	"bmcsettingsset-targets":      {&metalv1.BMC{ObjectMeta: objectMeta("", "sim-0004")}},
	"biosversionset-targets":      {&metalv1.Server{ObjectMeta: objectMeta("", "sim-0004-system-0")}},
	"bmcversionset-targets":       {&metalv1.BMC{ObjectMeta: objectMeta("", "sim-0004")}},
}

// TestBudgetOfWhatIsStuck: with the whole product running, an object that cannot come further costs at most ten writes and ten
// requests to its BMC a minute, whichever controller it is of.
func TestBudgetOfWhatIsStuck(t *testing.T) {
	l := newLab(t, 7)
	policy := filepath.Join(t.TempDir(), "audit.yaml")
	text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n  verbs: [create, update, patch, delete, deletecollection]\n- level: None\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.SetPassword(1, "of-somebody-else")
	l.inject(t, 5, fault.Spec{Kind: fault.Forbidden, Path: "/Subscriptions"})
	l.inject(t, 6, fault.Spec{Kind: fault.Forbidden, Path: "/Subscriptions"})
	figures := loopback.Free(t)
	p := l.up(t, "--bmc-fast-poll", "5s", "--audit-policy-file", policy, "--metrics-address", figures, "--metrics-plain", "--bmc-events-address", "127.0.0.1:0", "--metadata")
	l.discovered(p, 0, 2, 3, 4)
	l.endpoint(p, l.BMCs()[1])
	l.endpoint(p, l.BMCs()[5])
	l.inject(t, 0, fault.Spec{Kind: fault.ServerError, Path: "/Actions/ComputerSystem.Reset$"})
	l.inject(t, 4, fault.Spec{Kind: fault.PowerLies})
	for _, obj := range l.stuckObjects() {
		if err := p.Create(t.Context(), obj); err != nil {
			t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
		}
	}
	p.Eventually("every controller has looked at what is of its kind", func(ctx context.Context) error { return p.everyControllerIsStuck(ctx, figures) })

	p.passes(time.Minute) // what can be done has been, or has been tried
	audit := filepath.Join(l.DataDir, "audit", "audit.log")
	from, before := time.Now(), make([]int, len(l.BMCs()))
	for i := range before {
		before[i] = l.Stats(i).Requests
	}
	p.passes(time.Minute)
	for i, n := range before {
		n = l.Stats(i).Requests - n
		t.Logf("the BMC %s was sent %d requests in a minute", l.BMCs()[i].Name, n)
		if n > 10 {
			t.Errorf("the BMC %s was sent more than 10 requests in a minute: %d", l.BMCs()[i].Name, n)
		}
	}
	for object, n := range written(t, audit, from) {
		t.Logf("%s was written %d times in a minute", object, n)
		if n > 10 {
			t.Errorf("%s was written more than 10 times in a minute: %d", object, n)
		}
	}
	if all := written(t, audit, time.Time{}); all["servers /sim-0001-system-0"] == 0 || all["biossettings /same"] == 0 {
		t.Errorf("the log does not have what the product wrote before: %v", all)
	}
}

// discovered waits until the servers of some BMCs are free.
func (l *lab) discovered(p *running, bmcs ...int) {
	p.t.Helper()
	for _, i := range bmcs {
		l.endpoint(p, l.BMCs()[i])
	}
	for _, i := range bmcs {
		p.serverIs(l.BMCs()[i].Name+"-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
}

// stuckObjects cannot come further, each for another reason.
func (l *lab) stuckObjects() []client.Object {
	nobodys := &metalv1.Endpoint{ObjectMeta: objectMeta("", "nobodys")}
	nobodys.Spec.IP, nobodys.Spec.MACAddress = "192.0.2.9", "02:00:5e:00:53:01"
	secret := &metalv1.BMCSecret{ObjectMeta: objectMeta("", "factory"), StringData: map[string]string{"username": "admin", "password": "factory"}}
	away := &metalv1.BMC{ObjectMeta: objectMeta("", "away")}
	away.Spec.BMCSecretRef.Name = "factory"
	away.Spec.Access = &metalv1.InlineEndpoint{IP: unused(l.BMCs()[0].IP).String()}
	away.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: int32(l.Port())}
	inline := &metalv1.Server{ObjectMeta: objectMeta("", "inline")}
	last := l.BMCs()[6]
	inline.Spec.SystemUUID = strings.ToLower(last.UUID)
	inline.Spec.BMC = &metalv1.BMCAccess{Protocol: away.Spec.Protocol, Address: last.IP.String(), BMCSecretRef: metalv1.LocalObjectReference{Name: "factory"}}
	objects := []client.Object{nobodys, secret, away, inline}
	return slices.Concat(objects, l.stuckClaims(), stuckDeliveries(), l.stuckFirmware(), []client.Object{pausedPolicy()}, l.stuckAccounts(), l.stuckSettings())
}

// stuckFirmware are updates whose credentials nobody has, and Sets that select nothing.
func (l *lab) stuckFirmware() []client.Object {
	template := metalv1.VersionTemplate{Version: "9.9", Image: metalv1.ImageSpec{URI: "http://192.0.2.9/9.9.bin", SecretRef: &metalv1.SecretReference{Name: "none"}}}
	machine := l.BMCs()[3].Name
	bios, bmc := &metalv1.BIOSVersion{ObjectMeta: objectMeta("", "no-credentials")}, &metalv1.BMCVersion{ObjectMeta: objectMeta("", "no-credentials")}
	bios.Spec.VersionTemplate, bios.Spec.ServerRef = template, &metalv1.LocalObjectReference{Name: machine + "-system-0"}
	bmc.Spec.VersionTemplate, bmc.Spec.BMCRef = template, &metalv1.LocalObjectReference{Name: machine}
	nobody := metav1.LabelSelector{MatchLabels: map[string]string{"example.org/rack": "none"}}
	settings := &metalv1.BIOSSettingsSet{ObjectMeta: objectMeta("", "of-nobody")}
	settings.Spec.ServerSelector, settings.Spec.BIOSSettingsTemplate.Version = nobody, "2.4.1"
	ofBIOS, ofBMC := &metalv1.BIOSVersionSet{ObjectMeta: objectMeta("", "of-nobody")}, &metalv1.BMCVersionSet{ObjectMeta: objectMeta("", "of-nobody")}
	ofBIOS.Annotations = map[string]string{metalv1.AnnotationRolloutPolicy: "paused"}
	ofBIOS.Spec.ServerSelector, ofBIOS.Spec.BIOSVersionTemplate.VersionTemplate = nobody, template
	ofBMC.Spec.BMCSelector, ofBMC.Spec.BMCVersionTemplate.VersionTemplate = nobody, template
	settingsOfBMC := &metalv1.BMCSettingsSet{ObjectMeta: objectMeta("", "of-nobody")}
	settingsOfBMC.Spec.BMCSelector, settingsOfBMC.Spec.BMCSettingsTemplate.Version = nobody, "9.9"
	return []client.Object{bios, bmc, settings, ofBIOS, ofBMC, settingsOfBMC}
}

// pausedPolicy lets nothing begin; the Set of no server goes by it.
func pausedPolicy() client.Object {
	p := &farrierv1.RolloutPolicy{ObjectMeta: objectMeta("", "paused")}
	p.Spec.Paused = true
	return p
}

// stuckAccounts are one with a role that its BMC does not have, and one at a BMC that does not exist.
func (l *lab) stuckAccounts() []client.Object {
	role, nowhere := &metalv1.BMCUser{ObjectMeta: objectMeta("", "no-such-role")}, &metalv1.BMCUser{ObjectMeta: objectMeta("", "of-no-bmc")}
	role.Spec = metalv1.BMCUserSpec{UserName: "watch", RoleID: "NoSuchRole", BMCRef: &metalv1.LocalObjectReference{Name: l.BMCs()[3].Name}}
	nowhere.Spec = metalv1.BMCUserSpec{UserName: "watch", RoleID: "ReadOnly", BMCRef: &metalv1.LocalObjectReference{Name: "nowhere"}}
	return []client.Object{role, nowhere}
}

// stuckSettings are some with a variable from a ConfigMap that nobody has made, and some of a BMC that does not exist.
func (l *lab) stuckSettings() []client.Object {
	config, nowhere := &metalv1.BMCSettings{ObjectMeta: objectMeta("", "no-config")}, &metalv1.BMCSettings{ObjectMeta: objectMeta("", "of-no-bmc")}
	settings := map[string]string{"SysLog.1.Server1": "$(SERVER)"}
	config.Spec.BMCRef, nowhere.Spec.BMCRef = &metalv1.LocalObjectReference{Name: l.BMCs()[3].Name}, &metalv1.LocalObjectReference{Name: "nowhere"}
	config.Spec.Version, config.Spec.SettingsMap = "9.9", settings
	config.Spec.Variables = []metalv1.Variable{{Key: "SERVER", ValueFrom: &metalv1.VariableSource{
		ConfigMapKeyRef: &metalv1.NamespacedKeySelector{Namespace: "default", Name: "none", Key: "server"},
	}}}
	nowhere.Spec.Version, nowhere.Spec.SettingsMap = "9.9", map[string]string{"SysLog.1.Server1": "192.0.2.1"}
	return []client.Object{config, nowhere}
}

// unused is an address of the rack's network that no BMC is at.
func unused(ip netip.Addr) netip.Addr {
	b := ip.As4()
	b[3] += 100
	return netip.AddrFrom4(b)
}

// stuckClaims are claims and what else wants servers.
func (l *lab) stuckClaims() []client.Object {
	server := func(i int) string { return l.BMCs()[i].Name + "-system-0" }
	claim := func(name string, change func(*metalv1.ServerClaim)) *metalv1.ServerClaim {
		c := &metalv1.ServerClaim{ObjectMeta: objectMeta("default", name)}
		c.Spec.Power, c.Spec.Image = metalv1.PowerOn, l.Registry.Reference("os", "1")
		change(c)
		return c
	}
	on := func(i int) *metalv1.LocalObjectReference { return &metalv1.LocalObjectReference{Name: server(i)} }
	objects := []client.Object{
		claim("refused", func(c *metalv1.ServerClaim) { c.Spec.ServerRef = on(0) }),
		claim("no-image", func(c *metalv1.ServerClaim) {
			c.Spec.ServerRef, c.Spec.Image, c.Spec.UserDataRef = on(3), l.Registry.Reference("os", "none"), &metalv1.LocalObjectReference{Name: "none"}
		}),
		claim("nowhere", func(c *metalv1.ServerClaim) { c.Spec.ServerRef = on(3) }),
	}
	for _, name := range []string{"first", "second"} {
		m := &metalv1.ServerMaintenance{ObjectMeta: objectMeta("default", name)}
		m.Spec.ServerRef.Name, m.Spec.Policy = server(3), metalv1.ServerMaintenancePolicyOwnerApproval
		objects = append(objects, m)
	}
	same, lied := settingsOf(server(2), map[string]string{"SystemProfile": "Quiet"}), settingsOf(server(4), map[string]string{"SystemProfile": "Quiet"})
	same.Name, lied.Name = "same", "lied-to"
	same.Spec.SettingsFlow = append(same.Spec.SettingsFlow, metalv1.SettingsFlowItem{Name: "all", Priority: 2, Settings: map[string]string{"SystemProfile": "Balanced"}})
	objects = append(objects, same, lied)
	for name, status := range map[string]string{"one": "True", "other": "False"} { // both cannot hold, and the taint is one
		r := &metalv1.ServerReadinessRule{ObjectMeta: objectMeta("", name)}
		r.Spec.EnforcementMode, r.Spec.Taint = metalv1.ReadinessEnforcementModeContinuous, metalv1.Taint{Key: "example.org/unready", Effect: metalv1.TaintEffectNoBind}
		r.Spec.Conditions = []metalv1.ReadinessCondition{{Type: "Burned", RequiredStatus: "Unknown"}}
		if status == "True" {
			r.Spec.Conditions[0].RequiredStatus = "True"
		}
		objects = append(objects, r)
	}
	return objects
}

// stuckDeliveries cannot be booted.
func stuckDeliveries() []client.Object {
	config := &metalv1.ServerBootConfiguration{ObjectMeta: objectMeta("default", "of-nobody")}
	config.Spec.ServerRef.Name, config.Spec.Image = "nobody", "registry.invalid/os:1"
	ipxe := &bootv1.IPXEBootConfig{ObjectMeta: objectMeta("default", "no-ignition")}
	ipxe.Spec.SystemUUID, ipxe.Spec.KernelURL, ipxe.Spec.InitrdURL = "00000000-0000-4000-8000-000000000001", "http://192.0.2.1/k", "http://192.0.2.1/i"
	ipxe.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: "none"}
	http := &bootv1.HTTPBootConfig{ObjectMeta: objectMeta("default", "no-ignition")}
	http.Spec.SystemUUID, http.Spec.UKIURL = "00000000-0000-4000-8000-000000000002", "http://192.0.2.1/uki"
	http.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: "none"}
	profile := &ipxev1.Profile{ObjectMeta: objectMeta("default", "no-content")}
	profile.Spec.IPXE = "#!ipxe\nchain {{ .x }}\n"
	profile.Spec.AdditionalContent = []ipxev1.AdditionalContent{{Name: "x", SecretRef: &ipxev1.KeyReference{Namespace: "default", Name: "none", Key: "k"}}}
	assignment := &ipxev1.Assignment{ObjectMeta: objectMeta("default", "no-profile")}
	assignment.Spec.ProfileName, assignment.Spec.SubjectSelector = "none", map[string]string{"uuid": "00000000-0000-4000-8000-000000000003"}
	return []client.Object{config, ipxe, http, profile, assignment}
}

var reconciles = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total\{controller="([^"]+)",result="[^"]+"\} ([0-9.e+]+)$`)

// everyControllerIsStuck returns an error unless every controller that the product has was at work, has objects in the table, and they exist.
func (p *running) everyControllerIsStuck(ctx context.Context, figures string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+figures+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	worked := map[string]bool{}
	for _, m := range reconciles.FindAllSubmatch(page, -1) {
		worked[string(m[1])] = worked[string(m[1])] || string(m[2]) != "0"
	}
	var errs []error
	for name, did := range worked {
		switch objects := stuck[name]; {
		case len(objects) == 0:
			errs = append(errs, fmt.Errorf("controller %s has no object in the table of stuck ones", name))
		case !did:
			errs = append(errs, fmt.Errorf("controller %s has reconciled nothing yet", name))
		}
	}
	for name, objects := range stuck {
		if _, there := worked[name]; !there {
			errs = append(errs, fmt.Errorf("the product has no controller %s", name))
		}
		for _, obj := range objects {
			if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object)); err != nil {
				errs = append(errs, fmt.Errorf("controller %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// passes waits until that much time has passed.
func (p *running) passes(d time.Duration) {
	p.t.Helper()
	from := time.Now()
	p.Eventually(fmt.Sprintf("%s pass", d), func(context.Context) error {
		if past := time.Since(from); past < d {
			return fmt.Errorf("%s have", past)
		}
		return nil
	})
}

// written counts, by object, what the product wrote from a moment on, and asked to write in vain. An event is counted for whom it is about.
func written(t *testing.T, log string, from time.Time) map[string]int {
	t.Helper()
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{metalv1.GroupName, bootv1.GroupName, ipxev1.GroupName, ""}
	n := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Buffer(nil, len(content)+1); lines.Scan(); {
		var line struct {
			Verb                     string
			User                     struct{ Username string }
			ObjectRef                struct{ APIGroup, Resource, Namespace, Name string }
			RequestReceivedTimestamp time.Time
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		o := line.ObjectRef
		if line.RequestReceivedTimestamp.Before(from) || line.User.Username == "farrier-admin" || o.Resource == "events" || o.Resource == "leases" || !slices.Contains(ours, o.APIGroup) {
			continue
		}
		n[fmt.Sprintf("%s %s/%s", o.Resource, o.Namespace, o.Name)]++
	}
	return n
}
