package admission

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
)

// sshSuffix follows a Server's name in the name of the Secret with the access to it under discovery.
const sshSuffix = "-ssh"

// uniqueUUID refuses a system UUID, however it is spelled, that another Server has: one machine would be two.
func uniqueUUID(ctx context.Context, c *check, now, before *metalv1.Server) error {
	uuid := identity.MachineUUID(now.Spec.SystemUUID)
	if uuid == "" && now.Spec.SystemUUID != "" && now.Spec.SystemUUID != before.Spec.SystemUUID {
		c.warn(field.NewPath("spec", "systemUUID"), "%.64q is a placeholder and identifies no machine: the MAC addresses and the serial number do", now.Spec.SystemUUID)
	}
	if uuid == "" || uuid == identity.MachineUUID(before.Spec.SystemUUID) {
		return nil
	}
	others, err := holders(ctx, c, &metalv1.ServerList{}, index.ServerByIdentity, index.MachineUUID(uuid), blank[metalv1.Server], func(o *metalv1.Server) bool {
		return identity.MachineUUID(o.Spec.SystemUUID) == uuid
	})
	if err != nil || len(others) == 0 {
		return err
	}
	c.refuse(field.Invalid(field.NewPath("spec", "systemUUID"), now.Spec.SystemUUID, fmt.Sprintf("Server %q has the same system UUID %s", others[0].Name, uuid)))
	return nil
}

// freeNames refuses a new Server for whose discovery there would be no room: its Secrets <name> and <name>-ssh and its boot configuration <name>
// stand in the manager's namespace, and something else has one of these names.
func freeNames(ctx context.Context, c *check, now, _ *metalv1.Server) error {
	if !c.created() || now.Name == "" {
		return nil
	}
	if err := c.freeOfServers(ctx, now.Name); err != nil {
		return err
	}
	for _, other := range []struct {
		name, kind string
		obj        client.Object
	}{
		{now.Name, "Secret", &corev1.Secret{}},
		{now.Name + sshSuffix, "Secret", &corev1.Secret{}},
		{now.Name, "ServerBootConfiguration", &metalv1.ServerBootConfiguration{}},
		{now.Name, "ServerClaim", &metalv1.ServerClaim{}},
	} {
		key := types.NamespacedName{Namespace: c.ManagerNamespace, Name: other.name}
		read := func() (bool, error) { return c.taken(ctx, metal(other.kind), key, other.obj) }
		if other.kind == "Secret" {
			read = func() (bool, error) { return c.spared(ctx, key, other.obj) } // memory holds none
		}
		exists, err := read()
		if err != nil {
			return err
		}
		// What a Server of this name left behind is replaced when it is discovered.
		if exists && other.obj.GetAnnotations()[metalv1.AnnotationType] != metalv1.TypeInternal {
			c.refuse(field.Invalid(field.NewPath("metadata", "name"), now.Name, fmt.Sprintf(
				"%s %s/%s has a name that the discovery of Server %q needs", other.kind, c.ManagerNamespace, other.name, now.Name)))
		}
	}
	return nil
}

// freeOfServers refuses names of which one is the other with the suffix of its Secret.
func (c *check) freeOfServers(ctx context.Context, name string) error {
	others := []string{name + sshSuffix}
	if base, ok := strings.CutSuffix(name, sshSuffix); ok && base != "" {
		others = append(others, base)
	}
	for _, other := range others {
		exists, err := c.taken(ctx, metal("Server"), types.NamespacedName{Name: other}, &metalv1.Server{})
		if err != nil {
			return err
		}
		if exists {
			c.refuse(field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf(
				"Server %q exists, and both would keep a Secret %s in namespace %s", other, max(name, other), c.ManagerNamespace)))
		}
	}
	return nil
}

// serverPower warns of a power that is asked of a Server itself: the controller takes it away.
func serverPower(_ context.Context, c *check, now, before *metalv1.Server) error {
	if now.Spec.Power != "" && now.Spec.Power != before.Spec.Power {
		c.warn(field.NewPath("spec", "power"), "will be removed: the ServerClaim or the ServerMaintenance of a server decides its power")
	}
	return nil
}

// serverAnnotations refuses kernel arguments that would end the command they are added to, and ways of cleaning that nobody knows.
func serverAnnotations(_ context.Context, c *check, now, before *metalv1.Server) error {
	if arguments, set := annotated(now, before, metalv1.AnnotationKernelArgs); set {
		if err := bootview.CheckArguments(metalv1.AnnotationKernelArgs, arguments); err != nil {
			c.refuse(field.Invalid(annotation(metalv1.AnnotationKernelArgs), arguments, reason(err)))
		}
	}
	c.cleanup(now, before)
	return nil
}
