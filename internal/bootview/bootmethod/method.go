package bootmethod

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Methods are all boot methods, in the order in which a boot configuration reports on them. Firmware that knows several boots by the last.
var Methods = []Method{IPXE, HTTP}

// Object is a boot config of any method.
type Object interface {
	metav1.Object
	runtime.Object
}

// List is a list of boot configs of one method.
type List interface {
	metav1.ListInterface
	runtime.Object
}

// Method is how machines boot.
type Method struct {
	// Name is what people call it.
	Name string
	// Kind is the kind of its boot configs. The entries of the boot view that are rendered from them begin with it.
	Kind string
	// Target is the boot override that has firmware boot this way (Redfish ComputerSystem, Boot.BootSourceOverrideTarget).
	Target string
	// Layers are those of an image that it boots.
	Layers registry.Set
	// File is what firmware fetches itself, by the URL that the boot config has; nil: nothing, but a program that DHCP names.
	File *bootfile.File
	// Conditions are those that the delivery of a kind turns true; the first of them says that it was fetched.
	Conditions map[bootview.DeliveryKind][]string

	New     func() Object
	NewList func() List

	// Render fills in what the boot server answers, and returns what is wrong with the boot config, if anything.
	Render func(obj Object, b Boot, e *bootview.Entry) (problem string)

	// plan returns what writes the spec of a boot config.
	plan   func(p registry.Plan, m Machine) func(Object)
	config func(Object) *Config
}

// Plan returns what writes the spec of a boot config; nil: the image does not hold what this method boots.
func (m Method) Plan(p registry.Plan, machine Machine) func(Object) {
	if !p.Has(m.Layers) {
		return nil
	}
	return m.plan(p, machine)
}

// Machine is what a boot config is planned for.
type Machine struct {
	Server *metalv1.Server
	// BootURL is the base of the URLs under which it fetches images.
	BootURL string
	// Ignition is nil where it is given none.
	Ignition *bootv1.LocalObjectReference
}

// Config is what boot configs of all methods have in common. Its pointers lead into the object.
type Config struct {
	SystemUUID string
	// Addresses are the IP and MAC addresses of the machine, by the field that has them.
	Addresses []Addresses
	// URLs are those that the machine fetches from, by the field that has them. FileURL is that of the method's File.
	URLs    []URL
	FileURL string
	// Ignition and Script name Secrets; nil: none.
	Ignition, Script *bootv1.LocalObjectReference

	State                                *string
	ObservedGeneration                   *int64
	DeliveryAttempt, IgnitionFingerprint *string
	Conditions                           *[]metav1.Condition
}

// URL is the value of a field of a spec.
type URL struct {
	Field, Value string
	// Scripted says that it stands in a script of iPXE, which expands settings and knows more schemes than firmware does.
	Scripted bool
}

// Addresses are the values of a field of a spec.
type Addresses struct {
	Field  string
	Values []string
}

// The states of a boot config are the same for every method.
const (
	StateReady   = "Ready"
	StatePending = "Pending"
	StateError   = "Error"
)

// Boot is what a boot config is rendered for.
type Boot struct {
	// BootURL is the base that URLs of the boot server begin with in boot configs of the machine's site.
	BootURL string
	// Installed says that the machine boots its disk.
	Installed bool
	// Script is the content of the Secret that Config.Script names; ScriptProblem says why there is none.
	Script        []byte
	ScriptProblem string
	// KernelArgs are the machine's own kernel arguments, KernelArgsField says where they stand.
	KernelArgs, KernelArgsField string
}

// Resource is what the API calls the boot configs of the method.
func (m Method) Resource() string { return strings.ToLower(m.Kind) + "s" }

// ByKind finds a method by the kind of its boot configs.
func ByKind(kind string) (Method, bool) {
	i := slices.IndexFunc(Methods, func(m Method) bool { return m.Kind == kind })
	if i < 0 {
		return Method{}, false
	}
	return Methods[i], true
}

// ConfigOf reads a boot config; nil: it is none.
func ConfigOf(obj any) *Config {
	o, ok := obj.(Object)
	if !ok {
		return nil
	}
	for _, m := range Methods {
		if c := m.config(o); c != nil {
			return c
		}
	}
	return nil
}

// Secrets are the names of the Secrets that a boot config refers to.
func (c *Config) Secrets() []string {
	var names []string
	for _, ref := range []*bootv1.LocalObjectReference{c.Ignition, c.Script} {
		if ref != nil && ref.Name != "" {
			names = append(names, ref.Name)
		}
	}
	return names
}

// AllAddresses are those of all fields.
func (c *Config) AllAddresses() []string {
	var all []string
	for _, a := range c.Addresses {
		all = append(all, a.Values...)
	}
	return all
}
