package bootdelivery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ignition"
)

const kindSecret = "Secret"

// source is everything that one entry of the view is rendered from.
type source struct {
	name   string
	object client.Object
	method bootmethod.Method
	// derived says that object is in memory, and its status in that of config.
	derived bool
	// config and server are nil for a boot config written by hand.
	config  *metalv1.ServerBootConfiguration
	server  *metalv1.Server
	attempt *bootattempt.Attempt
	// ignition and script are the Secrets referred to, nil when there is none or it is missing.
	ignition, script *corev1.Secret
	// misnamed says that a Secret is referred to by a name that none can have; unreadable is why one cannot be read now.
	misnamed   bool
	unreadable error
	// unheard says why it does not count; nil: it does.
	unheard *unheard
	// hidden are the boot configs that its machine is given in its place.
	hidden []string
	// warning is what was said of ignition that can be delivered all the same.
	warning string
	// content is the fingerprint of ignition that can be delivered; empty: there is none.
	content string
	// endings are boots without an attempt that are over and that conditions may still tell of.
	endings int
}

func (in *source) refs() (ignitionRef, scriptRef *bootv1.LocalObjectReference) {
	config := bootmethod.ConfigOf(in.object)
	return config.Ignition, config.Script
}

// left says that the boot configuration which made it is gone. The garbage collector is about to delete it, with all that
// it refers to, or our own controller where that was told to leave it.
func (in *source) left() bool {
	owner := metav1.GetControllerOf(in.object)
	return in.config == nil && (configOf(in.object) != nil || owner == nil && in.object.GetAnnotations()[metalv1.AnnotationMadeFor] != "")
}

// ends says that its boot configuration is being deleted, and it will be with that: what would be said of it nobody reads.
func (in *source) ends() bool { return in.config != nil && !in.config.DeletionTimestamp.IsZero() }

// gather reads what the entry needs; only the Secrets that are referred to are read, past the cache.
func (d *Delivery) gather(ctx context.Context, in *source) error {
	if owner := configOf(in.object); owner != nil {
		var config metalv1.ServerBootConfiguration
		err := d.Get(ctx, client.ObjectKey{Namespace: in.object.GetNamespace(), Name: owner.Name}, &config)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && config.UID == owner.UID {
			in.config = &config
			in.attempt = bootattempt.Of(&config)
			var server metalv1.Server
			err := d.Get(ctx, client.ObjectKey{Name: config.Spec.ServerRef.Name}, &server)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if err == nil {
				in.server = &server
			}
			d.Trace.Learn(in.server, &config, in.attempt)
		}
	}
	if in.left() {
		return nil
	}
	ignitionRef, scriptRef := in.refs()
	in.ignition = d.secret(ctx, in, ignitionRef)
	in.script = d.secret(ctx, in, scriptRef)
	return nil
}

// secret reads what an object refers to, nil where there is none. What keeps it from being read is noted.
func (d *Delivery) secret(ctx context.Context, in *source, ref *bootv1.LocalObjectReference) *corev1.Secret {
	if ref == nil || ref.Name == "" {
		return nil
	}
	if objectname.Problem(kindSecret, ref.Name) != "" {
		in.misnamed = true
		return nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: in.object.GetNamespace(), Name: ref.Name}
	switch err := d.APIReader.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		in.unreadable = errors.Join(in.unreadable, fmt.Errorf("Secret %s: %w", key, err))
		return nil
	}
	return &secret
}

// missing says why there is no Secret where one is referred to.
func (in *source) missing(field, name string) string {
	switch problem := objectname.Problem(kindSecret, name); {
	case problem != "":
		return field + ": " + problem
	case in.unreadable != nil:
		return fmt.Sprintf("%s: Secret %q cannot be read: %v", field, name, in.unreadable)
	}
	return fmt.Sprintf("%s: Secret %q does not exist", field, name)
}

// render makes the entry. A problem does not keep it out of the view: what can be served is, and
// what cannot says why.
func (r *reconciler) render(in *source) (bootview.Entry, string) {
	e := bootview.Entry{Name: in.name, Rank: rank(in), Attempt: r.attempt(in), Terms: r.terms(in)}
	identify(&e, in.server)
	e.Site = r.site(in.server)
	e.Version = objectversion.Newest(in.object, in.config, in.server, in.ignition, in.script)
	config := bootmethod.ConfigOf(in.object)
	in.speaksFor(&e, config.SystemUUID, config.AllAddresses())
	problem := r.method.Render(in.object, r.boot(in, config.Script, e.Site), &e)
	if p := r.renderIgnition(in, &e); problem == "" {
		problem = p
	}
	if p := unidentified(in.object); problem == "" {
		problem = p
	}
	return e, problem
}

// speaksFor adds what its author says that the machine is known by. Of what a boot configuration made only the Server is asked
// which machine it is for: whoever may write in that namespace could name another one.
func (in *source) speaksFor(e *bootview.Entry, uuid string, addresses []string) {
	if in.server != nil {
		e.UUID = in.server.Spec.SystemUUID
		return
	}
	e.UUID = uuid
	for _, id := range addresses {
		// Six groups are never an IPv6 address, but an IPv6 address may have five colons.
		if _, err := identity.IP(id); err == nil {
			e.IPs = append(e.IPs, id)
		} else {
			e.MACs = append(e.MACs, id)
		}
	}
}

// unidentified says what is wrong with what somebody who writes a boot config by hand knows the machine by.
func unidentified(obj client.Object) string {
	if configOf(obj) != nil {
		return ""
	}
	config := bootmethod.ConfigOf(obj)
	uuid := config.SystemUUID
	if uuid == "" && len(config.AllAddresses()) == 0 {
		return "spec names no machine: set systemUUID or an address"
	}
	if uuid != "" && identity.MachineUUID(uuid) == "" {
		return fmt.Sprintf("spec.systemUUID: %.64q is no UUID of a machine", uuid)
	}
	for _, list := range config.Addresses {
		for i, value := range list.Values {
			if !identity.IsMachineAddress(value) {
				return fmt.Sprintf("spec.%s[%d]: %.64q is neither an IP nor a MAC address of a machine", list.Field, i, value)
			}
		}
	}
	return ""
}

// identify adds what is known of the machine besides its UUID.
func identify(e *bootview.Entry, server *metalv1.Server) {
	if server == nil {
		return
	}
	e.Serial = server.Status.SerialNumber
	for _, n := range server.Status.NetworkInterfaces {
		e.MACs = append(e.MACs, n.MACAddress)
		e.IPs = append(e.IPs, n.IPs...)
	}
}

// site is where the machine stands, as far as URLs are configured for it. Who knows of no Server knows of no site.
func (d *Delivery) site(server *metalv1.Server) string {
	if server == nil {
		return ""
	}
	name, _ := d.Sites.Name(server.Labels[metalv1.LabelSite])
	return name
}

// SiteOf is where the machine of a Server stands, as its entries say.
func (d *Delivery) SiteOf(server *metalv1.Server) string { return d.site(server) }

// notOrdered stands for the attempt of a boot configuration whose boot is not ordered, or over.
const notOrdered = "none"

// attempt is the boot that the entry belongs to.
func (d *Delivery) attempt(in *source) bootview.Attempt {
	switch {
	case in.server != nil && in.attempt.Open():
		return bootview.Attempt{
			ID: in.attempt.ID, Open: true, Token: ignition.Token(d.TokenKey, string(in.server.UID), in.attempt.ID), Clean: string(in.attempt.Clean),
		}
	case in.config != nil && !d.ForeignLifecycle:
		return bootview.Attempt{ID: notOrdered} // ours, and not ordered: closed
	}
	return bootview.Attempt{} // no attempt of ours stands behind it: open
}

// configOf is the boot configuration that made a boot config. What a person wrote has none, and neither has what
// belongs to a lifecycle of somebody else's.
func configOf(obj client.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != "ServerBootConfiguration" {
		return nil
	}
	if group, _, _ := strings.Cut(owner.APIVersion, "/"); group != metalv1.GroupName {
		return nil
	}
	return owner
}

// rank says whose word an entry is: only the boot configuration that the server refers to now counts.
func rank(in *source) bootview.Rank {
	if configOf(in.object) == nil {
		return bootview.HandWritten
	}
	return rankOf(in.config, in.server)
}

func rankOf(config *metalv1.ServerBootConfiguration, server *metalv1.Server) bootview.Rank {
	if config == nil || server == nil {
		return bootview.Stale
	}
	ref := server.Spec.BootConfigurationRef
	if m := server.Spec.MaintenanceBootConfigurationRef; m != nil && server.Spec.ServerMaintenanceRef != nil {
		ref = m
	}
	if ref != nil && ref.Namespace == config.Namespace && ref.Name == config.Name {
		return bootview.Current
	}
	return bootview.Stale
}

// boot is what the boot config is rendered for.
func (r *reconciler) boot(in *source, scriptRef *bootv1.LocalObjectReference, site string) bootmethod.Boot {
	b := bootmethod.Boot{BootURL: r.Sites.Of(site).Object(), Installed: in.attempt.Exits()}
	if in.server != nil {
		b.KernelArgs = in.server.Annotations[metalv1.AnnotationKernelArgs]
		b.KernelArgsField = fmt.Sprintf("Server %q: metadata.annotations[%s]", in.server.Name, metalv1.AnnotationKernelArgs)
	}
	if scriptRef == nil || scriptRef.Name == "" {
		return b
	}
	switch {
	case in.script == nil:
		b.ScriptProblem = in.missing("spec.ipxeScriptSecretRef", scriptRef.Name)
	case len(in.script.Data[bootv1.SecretKeyIPXEScript]) == 0:
		b.ScriptProblem = fmt.Sprintf("spec.ipxeScriptSecretRef: Secret %q has no key %q", scriptRef.Name, bootv1.SecretKeyIPXEScript)
	default:
		b.Script = in.script.Data[bootv1.SecretKeyIPXEScript]
	}
	return b
}

func (d *Delivery) renderIgnition(in *source, e *bootview.Entry) string {
	ref, _ := in.refs()
	if ref == nil || ref.Name == "" {
		return ""
	}
	e.Ignition = &bootview.Ignition{ContentType: "application/json"}
	data, has := []byte(nil), false
	if in.ignition != nil {
		data, has = in.ignition.Data[bootv1.SecretKeyIgnition]
	}
	var problem string
	switch {
	case in.ignition == nil:
		problem = in.missing("spec.ignitionSecretRef", ref.Name)
	case !has:
		problem = fmt.Sprintf("spec.ignitionSecretRef: Secret %q has no key %q", ref.Name, bootv1.SecretKeyIgnition)
	}
	if problem != "" {
		e.Ignition.Err = fmt.Errorf("%w: %s", bootview.ErrIgnitionMissing, problem)
		return problem
	}
	format := string(in.ignition.Data[bootv1.SecretKeyFormat])
	payload, warnings, err := ignition.Payload(format, data)
	if err != nil {
		e.Ignition.Err = err
		return fmt.Sprintf("spec.ignitionSecretRef: Secret %q: %v", ref.Name, err)
	}
	if len(warnings) > 0 {
		in.warning = fmt.Sprintf("spec.ignitionSecretRef: Secret %q: %s", ref.Name, strings.Join(warnings, "; "))
	}
	e.Ignition.Payload = payload
	if in.config != nil {
		in.content = ignition.Fingerprint(d.TokenKey, string(in.config.UID), format, data)
	}
	return ""
}
