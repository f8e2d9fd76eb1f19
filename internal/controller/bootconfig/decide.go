package bootconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// view is what a decision looks at, and below what it decides.
type view struct {
	config    *metalv1.ServerBootConfiguration
	server    *metalv1.Server
	image     registry.Result
	resolved  bool
	children  []child
	bootURL   string
	site      string // that the server's label names
	elsewhere bool   // the site is not configured
	derived   bool   // the children are in memory

	// known says that what the children want is an answer.
	known bool
	// problem is what is wrong, in words; it makes the state Error. misnamed says that it is a reference that nothing can have.
	problem  string
	misnamed bool
	// waiting is what is awaited, in words; it makes the state Pending.
	waiting string
	// rendering says that a derived child has not been rendered yet, which is over in a moment. warning is what was said of derived children that are
	// well.
	rendering bool
	warning   string
}

// child is the boot config of one boot method.
type child struct {
	method bootmethod.Method
	have   bootmethod.Object // nil: there is none
	// want writes its spec; nil: there shall be none, if that is known.
	want func(bootmethod.Object)
}

// decide chooses the boot method.
func decide(v *view) {
	switch {
	case v.config.Spec.ServerRef.Name == "":
		v.problem = "spec.serverRef.name is empty"
	case v.server == nil:
		v.problem = fmt.Sprintf("spec.serverRef: Server %q does not exist", v.config.Spec.ServerRef.Name)
	case v.config.Spec.Image == "":
		v.problem = "spec.image is empty"
	case ignitionName(v.config) != "" && objectname.Problem("Secret", ignitionName(v.config)) != "":
		// The objects that deliver it could not even be written.
		v.problem, v.misnamed = "spec.ignitionSecretRef: "+objectname.Problem("Secret", ignitionName(v.config)), true
	case v.problem != "": // with the pull secret
	case identity.MachineUUID(v.server.Spec.SystemUUID) == "" && len(v.server.Status.NetworkInterfaces) == 0:
		v.waiting = fmt.Sprintf("the UUID or a MAC address of Server %q", v.server.Name)
	case !v.resolved:
		v.waiting = "image " + v.config.Spec.Image + " to be resolved"
	case v.image.Err != nil && v.image.Plan.Digest == "":
		v.problem = "image " + v.config.Spec.Image + ": " + v.image.Err.Error()
	default:
		v.plan()
	}
}

func ignitionName(config *metalv1.ServerBootConfiguration) string {
	if config.Spec.IgnitionSecretRef == nil {
		return ""
	}
	return config.Spec.IgnitionSecretRef.Name
}

// plan decides for each boot method whether the image boots by it.
func (v *view) plan() {
	m := bootmethod.Machine{Server: v.server, BootURL: v.bootURL}
	if name := ignitionName(v.config); name != "" {
		m.Ignition = &bootv1.LocalObjectReference{Name: name}
	}
	for i := range v.children {
		v.children[i].want = v.children[i].method.Plan(v.image.Plan, m)
	}
	v.known = true
}

// remakes says that something is to be made which was made before, or another kind of it: status tells of what there was. Most
// often it was deleted together with its boot configuration, and the news of that is still to come.
func (v *view) remakes() bool {
	return v.config.Status.State != "" && !v.derived && slices.ContainsFunc(v.children, func(c child) bool { return c.want != nil && c.have == nil })
}

// describe writes status: the state is the children's, for this generation only.
func describe(v *view) {
	status := &v.config.Status
	set := func(kind string, s metav1.ConditionStatus, reason, message string) {
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: s, Reason: reason, Message: message, ObservedGeneration: v.config.Generation,
		})
	}
	status.ObservedGeneration = v.config.Generation
	v.describeSite(set)
	v.describeImage(set)
	if v.known {
		status.ImageDigest = v.image.Plan.Digest
	}
	if v.problem == "" && v.waiting == "" {
		v.collect()
	}
	switch {
	case v.problem != "":
		status.State = metalv1.ServerBootConfigurationStateError
		reason := "Error"
		if v.misnamed {
			reason = metalv1.ReasonInvalidName
		}
		set(metalv1.ConditionReady, metav1.ConditionFalse, reason, v.problem+v.meanwhile())
	case v.waiting != "":
		status.State = metalv1.ServerBootConfigurationStatePending
		set(metalv1.ConditionReady, metav1.ConditionFalse, "Pending", "Waiting for "+v.waiting+v.meanwhile())
	default:
		status.State = metalv1.ServerBootConfigurationStateReady
		set(metalv1.ConditionReady, metav1.ConditionTrue, "Ready", "Image "+v.image.Plan.Digest+v.warned())
	}
	v.mirrorDeliveries()
	v.mirrorReach()
	if v.bootStateIsStale() {
		status.BootStateAttempt = ""
		set(metalv1.ConditionBootStateReceived, metav1.ConditionFalse, "BootOrdered", "")
	}
}

// meanwhile says what a machine is given that boots by itself while it is not known what it should be given: what it
// was given before. A machine that restarts should not lose its system to a mistyped tag. An image that is not signed may be the
// previous one itself, which the boot server then refuses.
func (v *view) meanwhile() string {
	if v.known || errors.Is(v.image.Err, registry.ErrUnsigned) || !slices.ContainsFunc(v.children, func(c child) bool { return c.have != nil }) {
		return ""
	}
	return "; until then the boot server delivers the previous image"
}

// bootStateIsStale reports whether the machine's last report of its boot refers to an earlier boot than the one that is under way.
// The intake of reports writes the condition; whoever sees the next boot ordered takes it back.
func (v *view) bootStateIsStale() bool {
	a := bootattempt.Of(v.config)
	return a.Open() && apimeta.IsStatusConditionTrue(v.config.Status.Conditions, metalv1.ConditionBootStateReceived) && !reportintake.Booted(v.config, a)
}

func (v *view) describeImage(set func(kind string, s metav1.ConditionStatus, reason, message string)) {
	var missing registry.ErrMissingLayer
	switch {
	case !v.resolved:
		set(metalv1.ConditionImageValidation, metav1.ConditionUnknown, "Resolving", "")
	case errors.As(v.image.Err, &missing):
		set(metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonValidationFailed, v.image.Err.Error())
	case errors.Is(v.image.Err, registry.ErrUnsigned) && v.image.Plan.Digest == "":
		set(metalv1.ConditionImageValidation, metav1.ConditionFalse, metalv1.ReasonImageNotSigned, v.image.Err.Error())
	case errors.Is(v.image.Err, registry.ErrUnsigned):
		set(metalv1.ConditionImageValidation, metav1.ConditionTrue, metalv1.ReasonImageNotSigned, "Using the last signed image: "+v.image.Err.Error())
	case v.image.Err != nil && v.image.Plan.Digest == "":
		reason := metalv1.ReasonImageNotResolved
		if errors.Is(v.image.Err, registry.ErrUnreachable) || errors.Is(v.image.Err, context.DeadlineExceeded) {
			reason = metalv1.ReasonRegistryUnreachable
		}
		set(metalv1.ConditionImageValidation, metav1.ConditionFalse, reason, v.image.Err.Error())
	case v.image.Err != nil:
		set(metalv1.ConditionImageValidation, metav1.ConditionTrue, metalv1.ReasonRegistryUnreachable, "Using the last known image: "+v.image.Err.Error())
	default:
		set(metalv1.ConditionImageValidation, metav1.ConditionTrue, "Validated", v.image.Plan.Digest)
	}
}

// collect finds out what the boot configs lack; all have to be ready for their own
// generation.
func (v *view) collect() {
	for _, c := range v.children {
		if c.want != nil && c.have != nil {
			its := bootmethod.ConfigOf(c.have)
			v.child(c.method.Kind, *its.State, *its.ObservedGeneration == c.have.GetGeneration(), *its.Conditions)
		}
	}
}

func (v *view) child(kind, state string, current bool, conditions []metav1.Condition) {
	message := "not rendered yet"
	ready := apimeta.FindStatusCondition(conditions, metalv1.ConditionReady)
	if ready != nil {
		message = cmp.Or(ready.Message, message)
	}
	switch {
	case !current || state == bootmethod.StatePending || state == "":
		v.waiting, v.rendering = kind+": "+message, v.derived
	case state == bootmethod.StateError:
		v.problem = kind + ": " + message
	case v.derived && ready != nil && ready.Message != "":
		v.warning = ready.Message
	}
}

// architecture is the server's own, in the words of OCI (GOARCH), or what is given.
func architecture(server *metalv1.Server, otherwise string) string {
	for _, p := range server.Status.Processors {
		switch strings.ToLower(cmp.Or(p.InstructionSet, p.Architecture)) {
		case "x86-64", "x86_64", "amd64", "x86":
			return "amd64"
		case "arm-a64", "arm64", "aarch64", "arm":
			return "arm64"
		}
	}
	return otherwise
}

// Problem is what a boot configuration says of itself when it is not ready.
func Problem(config *metalv1.ServerBootConfiguration) string {
	c := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionReady)
	if c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
		return c.Message
	}
	if config.Status.State == metalv1.ServerBootConfigurationStateError {
		return foreignProblem(config)
	}
	return "The boot configuration is not ready yet"
}

// foreignProblem is what a boot configuration in Error says of itself that another boot provider looks after: that tells by state,
// and by conditions of its own, if at all.
func foreignProblem(config *metalv1.ServerBootConfiguration) string {
	var said []string
	for _, c := range config.Status.Conditions {
		if c.Status == metav1.ConditionFalse && c.Message != "" {
			said = append(said, c.Type+": "+c.Message)
		}
	}
	if len(said) == 0 {
		return "Its state is Error, and the boot provider gives no reason"
	}
	return "Its state is Error: " + strings.Join(said, "; ")
}

// Digest is that of the image that a boot configuration boots; empty: it is not known now.
func Digest(config *metalv1.ServerBootConfiguration) string {
	c := apimeta.FindStatusCondition(config.Status.Conditions, metalv1.ConditionReady)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != config.Generation {
		return ""
	}
	return config.Status.ImageDigest
}

// Ignition is the fingerprint of the ignition that a boot configuration boots with; empty: it has none, or it is not
// known now.
func Ignition(config *metalv1.ServerBootConfiguration) string {
	if Digest(config) == "" {
		return ""
	}
	return config.Status.IgnitionFingerprint
}
