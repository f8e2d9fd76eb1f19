package server

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/ignition"
)

// Keys of the Secret with the access to a machine under discovery.
const (
	sshKeyPEM      = "pem"
	sshKeyPublic   = "pub"
	sshKeyPassword = "password"

	// sshSuffix follows the server's name in the name of that Secret.
	sshSuffix = "-ssh"
)

// prepareInternal makes the boot of the probe: the Secret with the access to the machine, the
// ignition that starts the agent with its token, and the boot configuration that names
// both, whose boot may be ordered by that. Objects left from an earlier try are replaced, for their token is spent.
func (r *Reconciler) prepareInternal(ctx context.Context, v *View, p *Plan) error {
	// The reference goes first: its optimistic lock keeps a reconcile with an old
	// view from throwing away what another has just prepared.
	before := v.Server.DeepCopy()
	v.Server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: r.Namespace, Name: v.Server.Name}
	if err := r.patch(ctx, v.Server, before); err != nil {
		return err
	}
	if err := r.removeInternal(ctx, v.Server, false); err != nil {
		return err
	}
	a, image := r.internalAttempt(v, p)
	config, secrets, err := r.internalObjects(v, a, image)
	if err != nil {
		return err
	}
	for _, obj := range append(secrets, config) { // the boot configuration comes last, when what it refers to exists
		if err := r.Create(ctx, obj, client.FieldOwner(metalv1.FieldManager)); apierrors.IsAlreadyExists(err) {
			// Something holds what was deleted above, or it is somebody else's. That is no race to be run
			// again at once.
			return fmt.Errorf("prepare discovery: %s", err.Error())
		} else if err != nil {
			return fmt.Errorf("prepare discovery: %w", err)
		}
	}
	r.wrote(v, config, a)
	return nil
}

// internalAttempt is the attempt that the boot of the probe begins with, and what its image names if it is ordered by that.
func (r *Reconciler) internalAttempt(v *View, p *Plan) (*bootattempt.Attempt, derivedboot.Image) {
	a := &bootattempt.Attempt{ID: v.NewID(), Number: 1}
	if p.Again != nil {
		a = p.Again.Again(a.ID)
	}
	a.Clean = p.Clean
	if image, known := r.Derived.Now(v.Server, v.Policy.ProbeImage); known && p.Order {
		return a.Next(a.ID, v.Now).SeenOff(v.Now), image
	}
	return a, derivedboot.Image{}
}

// internalObjects renders what prepareInternal creates.
func (r *Reconciler) internalObjects(v *View, a *bootattempt.Attempt, image derivedboot.Image) (*metalv1.ServerBootConfiguration, []client.Object, error) {
	access, err := ignition.GenerateSSH("metal@" + v.Server.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("make the SSH key for discovery: %w", err)
	}
	token := ignition.Token(r.TokenKey, string(v.Server.UID), a.ID)
	base := r.Sites.Of(v.Server.Labels[metalv1.LabelSite]).Object()
	var bootCA []byte
	if strings.HasPrefix(base, "https://") {
		bootCA = r.BootCA
	}
	butane, err := ignition.Discovery(ignition.DiscoveryParams{
		RegistryURL:   base + "/probe/" + token,
		BootCA:        bootCA,
		ServerUUID:    v.Server.Spec.SystemUUID,
		AuthorizedKey: strings.TrimSpace(string(access.AuthorizedKey)),
		PasswordHash:  access.PasswordHash,
		Template:      r.DiscoveryTemplate,
		ProbeImage:    r.ProbeAgentImage,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("render the ignition for discovery: %w", err)
	}
	meta := metav1.ObjectMeta{
		Namespace: r.Namespace, Name: v.Server.Name, Annotations: map[string]string{metalv1.AnnotationType: metalv1.TypeInternal},
	}
	config := &metalv1.ServerBootConfiguration{ObjectMeta: *meta.DeepCopy()}
	config.Annotations[metalv1.AnnotationIsDefaultOSImage] = metalv1.AnnotationTrue
	config.Spec.ServerRef.Name = v.Server.Name
	config.Spec.Image = v.Policy.ProbeImage
	annotateAttempt(config, a, image)
	return config, r.internalSecrets(meta, access, butane, config), nil
}

// annotateAttempt writes an attempt into the annotations of its boot configuration, and what its image names, if that is known.
func annotateAttempt(config *metalv1.ServerBootConfiguration, a *bootattempt.Attempt, image derivedboot.Image) {
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, metalv1.AnnotationBootAttempt, a.String())
	if text := image.String(); text != "" {
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, metalv1.AnnotationBootImage, text)
	}
}

// wrote tells of an attempt that was written.
func (r *Reconciler) wrote(v *View, config *metalv1.ServerBootConfiguration, is *bootattempt.Attempt) {
	r.Trace.Wrote(v.Server, config, v.Attempt, is)
	if r.Recorded != nil && is.Open() && !(v.Attempt.Open() && v.Attempt.ID == is.ID) {
		r.Recorded(v.Server.Name, is.ID)
	}
}

// internalSecrets are those of the probe's boot: the access to the machine, and the ignition, which the boot configuration is given the name of. They
// are one Secret, except for another boot provider, which may know them by their names.
func (r *Reconciler) internalSecrets(meta metav1.ObjectMeta, access ignition.SSHCredentials, butane []byte, config *metalv1.ServerBootConfiguration) []client.Object {
	ssh := &corev1.Secret{ObjectMeta: *meta.DeepCopy(), Data: map[string][]byte{
		sshKeyPEM: access.PEM, sshKeyPublic: access.AuthorizedKey, sshKeyPassword: []byte(access.Password),
	}}
	ssh.Name += sshSuffix
	payload := map[string][]byte{bootv1.SecretKeyIgnition: butane, bootv1.SecretKeyFormat: []byte(bootv1.FormatFCOS)}
	if r.Derived != nil {
		maps.Copy(ssh.Data, payload)
		config.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: ssh.Name}
		return []client.Object{ssh}
	}
	config.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: meta.Name}
	return []client.Object{ssh, &corev1.Secret{ObjectMeta: meta, Data: payload}}
}

// removeInternal deletes what prepareInternal made, and nothing else: an object of the same name that is
// not marked as internal is somebody's own. For good: a cache that has no such object is not believed, for nobody looks
// again. Otherwise whoever makes it anew would find out. Of the Secret that an earlier version made, or this one for another boot provider, the cache
// is believed: it had that before this process acted.
func (r *Reconciler) removeInternal(ctx context.Context, server *metalv1.Server, forGood bool) error {
	for _, made := range []struct {
		name  string
		kind  schema.GroupVersionKind
		obj   client.Object
		doubt bool
	}{
		{server.Name, metalv1.GroupVersion.WithKind("ServerBootConfiguration"), &metalv1.ServerBootConfiguration{}, forGood},
		{server.Name, corev1.SchemeGroupVersion.WithKind("Secret"), &metav1.PartialObjectMetadata{}, forGood && r.Derived == nil},
		{server.Name + sshSuffix, corev1.SchemeGroupVersion.WithKind("Secret"), &metav1.PartialObjectMetadata{}, forGood},
	} {
		made.obj.GetObjectKind().SetGroupVersionKind(made.kind)
		key := client.ObjectKey{Namespace: r.Namespace, Name: made.name}
		err := r.Get(ctx, key, made.obj)
		if made.doubt && apierrors.IsNotFound(err) {
			err = r.APIReader.Get(ctx, key, made.obj)
		}
		if err == nil && made.obj.GetAnnotations()[metalv1.AnnotationType] == metalv1.TypeInternal {
			err = r.Delete(ctx, made.obj, client.Preconditions{UID: ptr.To(made.obj.GetUID())})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the objects of discovery: %w", err)
		}
	}
	return nil
}
