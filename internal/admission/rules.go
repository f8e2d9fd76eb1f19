package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
)

// Timeout bounds how long a request is held up. Rules read from indexes and, when something is wrong, a few objects; one that takes longer
// waits for an API server that has other troubles.
const Timeout = 4 * time.Second

// At most so many reads of the API a second, and so many at once, are for what memory does not hold and the object can be stored without.
const (
	spareReads = 20
	spareBurst = 100
)

// Rules are all rules of one installation.
type Rules struct {
	// ManagerNamespace is where the manager keeps its own objects.
	ManagerNamespace string
	// ForeignBoot: somebody else makes of images what machines boot, and knows which of them it can read.
	ForeignBoot bool
	// Belongs reports whether an object is one of the installation, which judges no others. Nil: every object is.
	Belongs func(metav1.Object) bool
	// Cached answers from memory and has the indexes of package index; Live asks the API.
	Cached, Live client.Reader
	// Assignments knows which Assignments overlap; nil: of that nobody is warned.
	Assignments *Assignments
	// Clock is the real one when nil.
	Clock clock.PassiveClock

	once   sync.Once
	recent *recent
	spare  flowcontrol.RateLimiter
}

// kind is what is done for the objects of a kind.
type kind struct {
	resource string
	validate []rule
	mutate   []repair
	// dated objects have precedence over those that came after them.
	dated bool
	// remove judges deletions. It warns and never refuses: what is in the way of what is deleted is for controllers.
	remove []rule
}

// kinds is the table of all rules. That of boot methods has the kinds of boot configs.
var kinds = withBootConfigs(map[schema.GroupKind]kind{
	metal("Endpoint"):  {resource: "endpoints", validate: []rule{of(uniqueMAC)}},
	metal("BMC"):       {resource: "bmcs", validate: []rule{of(bmcReferences), operations}},
	metal("BMCSecret"): {resource: "bmcsecrets", validate: []rule{of(backingSecret)}},
	metal("Server"):    {resource: "servers", validate: []rule{of(uniqueUUID), of(freeNames), of(serverPower), of(serverAnnotations), operations}},
	metal("ServerClaim"): {resource: "serverclaims", validate: []rule{
		of(claimImage), of(claimPower), of(claimName), of(claimSelection), of(claimSecrets), of(claimAnnotations), operations,
	}},
	metal("ServerBootConfiguration"): {resource: "serverbootconfigurations", validate: []rule{of(bootConfigurationImage)}},
	metal("ServerMaintenance"):       {resource: "servermaintenances", validate: []rule{of(maintenanceServer), operations}},
	metal("BIOSSettings"):            {resource: "biossettings", validate: []rule{of(settingsServer), of(settingsNames), of(settingsInProgress), operations}},
	metal("BIOSVersionSet"): {resource: "biosversionsets", validate: []rule{
		selecting("serverSelector", "Servers", func(s *metalv1.BIOSVersionSet) *metav1.LabelSelector { return &s.Spec.ServerSelector }), of(followsPolicy[metalv1.BIOSVersionSet]), operations,
	}},
	metal("BMCVersionSet"): {resource: "bmcversionsets", validate: []rule{
		selecting("bmcSelector", "BMCs", func(s *metalv1.BMCVersionSet) *metav1.LabelSelector { return &s.Spec.BMCSelector }), of(followsPolicy[metalv1.BMCVersionSet]), operations,
	}},
	metal("BMCSettingsSet"): {resource: "bmcsettingssets", validate: []rule{
		selecting("bmcSelector", "BMCs", func(s *metalv1.BMCSettingsSet) *metav1.LabelSelector { return &s.Spec.BMCSelector }), of(followsPolicy[metalv1.BMCSettingsSet]), operations,
	}},
	metal("BIOSSettingsSet"): {resource: "biossettingssets", validate: []rule{
		selecting("serverSelector", "Servers", func(s *metalv1.BIOSSettingsSet) *metav1.LabelSelector { return &s.Spec.ServerSelector }), of(setSettingsNames), of(followsPolicy[metalv1.BIOSSettingsSet]), operations,
	}},
	metal("BIOSVersion"):     {resource: "biosversions", validate: []rule{of(biosVersion), operations}},
	metal("BMCVersion"):      {resource: "bmcversions", validate: []rule{of(bmcVersion), operations}},
	metal("BMCSettings"):     {resource: "bmcsettings", validate: []rule{of(uniqueBMC), of(bmcSettingsInProgress), operations}},
	farrier("RolloutPolicy"): {resource: "rolloutpolicies", validate: []rule{of(rolloutPolicy)}},
	ipxe("Profile"): {resource: "profiles", dated: true, mutate: []repair{labelKeys}, validate: []rule{
		of(profileScript), of(profileWebhooks), of(profileReferences),
	}, remove: []rule{of(profileInUse)}},
	ipxe("Assignment"): {resource: "assignments", dated: true, mutate: []repair{labelKeys, selectorKeys}, validate: []rule{
		of(assignmentSelectors), of(oneAssignment), of(overlap), of(assignmentProfile),
	}},
})

func withBootConfigs(kinds map[schema.GroupKind]kind) map[schema.GroupKind]kind {
	for _, m := range bootmethod.Methods {
		kinds[boot(m.Kind)] = kind{resource: m.Resource(), validate: bootConfigRules(m)}
	}
	return kinds
}

func metal(name string) schema.GroupKind { return metalv1.GroupVersion.WithKind(name).GroupKind() }
func boot(name string) schema.GroupKind  { return bootv1.GroupVersion.WithKind(name).GroupKind() }
func farrier(name string) schema.GroupKind {
	return farrierv1.GroupVersion.WithKind(name).GroupKind()
}
func ipxe(name string) schema.GroupKind { return ipxev1.GroupVersion.WithKind(name).GroupKind() }

// Validates reports whether there are rules that may refuse objects of a kind, Mutates whether there are some that change them. A shell asks first,
// to let everything else pass at no cost.
func Validates(gk schema.GroupKind) bool { return len(kinds[gk].validate) > 0 }

// Mutates is the other half of Validates.
func Mutates(gk schema.GroupKind) bool { return len(kinds[gk].mutate) > 0 }

// Warns reports whether there are rules about the deletion of objects of a kind.
func Warns(gk schema.GroupKind) bool { return len(kinds[gk].remove) > 0 }

// Resources lists the resources of the kinds that a condition is true of, sorted by group and name.
func Resources(which func(schema.GroupKind) bool) []schema.GroupResource {
	var found []schema.GroupResource
	for gk := range maps.Keys(kinds) {
		if which(gk) {
			found = append(found, schema.GroupResource{Group: gk.Group, Resource: kinds[gk].resource})
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// Validate judges a request. An error means that it could not be judged, because others could not be read.
func (r *Rules) Validate(ctx context.Context, request Request) (Verdict, error) {
	r.once.Do(r.init)
	request, ours := r.within(request)
	if !ours {
		return Verdict{}, nil
	}
	if request.Object == nil && request.Old != nil {
		return r.remove(ctx, request), nil
	}
	if request.Object == nil || request.Object.GetDeletionTimestamp() != nil {
		return Verdict{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c := &check{Request: request, Rules: r}
	if c.references(); !c.verdict.Allowed() {
		return c.verdict, nil // the rules would look for objects of these names
	}
	for _, judge := range kinds[request.Kind].validate {
		if err := judge(ctx, c); err != nil {
			return Verdict{}, fmt.Errorf("%s %q: %w", request.Kind.Kind, request.Name, err)
		}
	}
	if c.verdict.Allowed() && !request.DryRun {
		if request.created() {
			c.holds = append(c.holds, named(request.Kind, c.name()))
		}
		r.recent.remember(c.name(), c.holds)
		if c.assigns != nil {
			r.Assignments.admit(c.assigns, r.Clock.Now())
		}
	}
	return c.verdict, nil
}

// within returns a request as this installation sees it, which is not asked about objects of others: one that comes from there is new, whatever was
// refused to it before. It reports whether the request is about an object of this one.
func (r *Rules) within(request Request) (Request, bool) {
	if r.Belongs == nil {
		return request, true
	}
	before := request.Old != nil && r.Belongs(request.Old)
	if request.Object == nil {
		return request, before
	}
	if !before {
		request.Old = nil
	}
	return request, r.Belongs(request.Object)
}

// remove says what the deletion of an object leads to. It keeps nobody waiting for what cannot be found out.
func (r *Rules) remove(ctx context.Context, request Request) Verdict {
	if request.Old.GetDeletionTimestamp() != nil {
		return Verdict{}
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c := &check{Request: request, Rules: r}
	for _, judge := range kinds[request.Kind].remove {
		if err := judge(ctx, c); err != nil {
			return Verdict{}
		}
	}
	return Verdict{Warnings: c.verdict.Warnings}
}

func (r *Rules) init() {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	r.recent = newRecent(r.Clock)
	r.Cached, r.Live = objectname.Reader(r.Cached), objectname.Reader(r.Live)
	r.spare = flowcontrol.NewTokenBucketRateLimiter(spareReads, spareBurst)
}

// repair changes an object, which is its own, and says what it changed. Old is nil when the object is created.
type repair func(object, old *unstructured.Unstructured) (warnings []string, changed bool)

// Mutate repairs an object, and dates one that is new. It needs nothing but the request and the time.
func Mutate(request Request, now time.Time) Mutation {
	if request.Object == nil || request.Object.GetDeletionTimestamp() != nil {
		return Mutation{}
	}
	var result Mutation
	var object *unstructured.Unstructured
	for _, mend := range kinds[request.Kind].mutate {
		if object == nil {
			object = request.Object.DeepCopy()
		}
		warnings, changed := mend(object, request.Old)
		result.Warnings = append(result.Warnings, warnings...)
		if changed {
			result.Object = object
		}
	}
	if kinds[request.Kind].dated && stamp(object, request.Old, now) {
		result.Object = object
	}
	return result
}
