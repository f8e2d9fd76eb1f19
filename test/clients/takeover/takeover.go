package takeover

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// namespace is that of the manager.
const namespace = "farrier-system"

// looks is how often Farrier has to look at a machine before a test believes that it tells its BMC nothing.
const looks = 5

// world is an API in which metal-operator was.
type world struct {
	*left
	running, maintained, free *bmc
	servers                   map[*bmc]*metalv1.Server
	claims                    []*metalv1.ServerClaim
	maintenance               *metalv1.ServerMaintenance
	uids                      map[client.Object]types.UID
}

// Test changes over with the metal-operator that the calling module requires; root is Farrier's repository.
func Test(t *testing.T, root string) {
	images := farrier.Up(t, 1)
	kubeconfig, boot := farrier.API(t), farrier.FreeAddress(t)
	o := objects.Of(t, &farrier.Farrier{Kubeconfig: kubeconfig})
	theirs := filepath.Join(farrier.Module(t, "github.com/ironcore-dev/metal-operator"), "config/crd/bases/*.yaml")
	o.Define(theirs)
	machines := rack(t, 3, boot)
	w := &world{
		left:    &left{Objects: o, t: t, image: images.Image},
		running: machines[0], maintained: machines[1], free: machines[2], servers: map[*bmc]*metalv1.Server{}, uids: map[client.Object]types.UID{},
	}
	w.leave()

	w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, nil)
	registry, err := url.Parse("//" + images.Image)
	if err != nil {
		t.Fatal(err)
	}
	start := []string{
		"--kubeconfig", kubeconfig, "--manager-namespace", namespace, "--boot-address", boot, "--mac-prefixes-file", prefixes(t, machines),
		"--probe-os-image", images.Image, "--allowed-registries", registry.Host, "--plain-http-registries", registry.Host,
		"--bmc-fast-poll", "100ms", "--bmc-poll-interval", "1s",
	}
	for _, round := range []string{"takes over", "takes over again"} {
		follow(t, root, kubeconfig, "Look at what there is")
		follow(t, root, kubeconfig, "Put Farrier's definitions over the former ones")
		o.Define(filepath.Join(root, "config/crd/*.yaml")) // and waits until they are served
		manager := farrier.Manager(t, start...)
		w.lookedAfter(machines)
		follow(t, root, kubeconfig, "Look again")
		w.untold(machines)
		w.kept()
		if t.Failed() {
			t.Fatalf("Farrier %s", round)
		}
		manager.Stop(t)
		o.Define(theirs)
		w.accepted()
	}
	o.Define(filepath.Join(root, "config/crd/*.yaml"))
	farrier.Manager(t, start...)
	w.maintenanceEnds()
	w.released()
}

// leave leaves a running server with its claim, a claimed one in maintenance, and a free one.
func (w *world) leave() {
	w.t.Helper()
	w.running.tell(w.t, http.MethodPost, system+"/Actions/ComputerSystem.Reset", `{"ResetType":"On"}`)
	farrier.Eventually(w.t, "the machine is on", func(context.Context) error {
		if power := w.running.system(w.t)["PowerState"]; power != "On" {
			return fmt.Errorf("it is %v", power)
		}
		return nil
	})
	w.servers[w.running] = w.bmc(w.running, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
	w.servers[w.maintained] = w.bmc(w.maintained, metalv1.ServerStateMaintenance, metalv1.ServerOffPowerState)
	w.servers[w.free] = w.bmc(w.free, metalv1.ServerStateAvailable, metalv1.ServerOffPowerState)
	w.claims = []*metalv1.ServerClaim{w.claim("web", w.servers[w.running]), w.claim("db", w.servers[w.maintained])}
	w.maintenance = w.left.maintenance("flash", w.servers[w.maintained])
	for _, object := range []client.Object{w.claims[0], w.claims[1], w.maintenance} {
		w.uids[object] = object.GetUID()
	}
	for _, server := range w.servers {
		w.uids[server] = server.GetUID()
	}
}

// lookedAfter waits until Farrier has found every BMC, and has looked at its machine several times since.
func (w *world) lookedAfter(machines []*bmc) {
	w.t.Helper()
	for _, b := range machines {
		farrier.Eventually(w.t, "Farrier looks after "+b.name, func(ctx context.Context) error {
			bmc := &metalv1.BMC{}
			if err := w.Get(ctx, client.ObjectKey{Name: b.name}, bmc); err != nil {
				return err
			}
			if !apimeta.IsStatusConditionTrue(bmc.Status.Conditions, "Ready") {
				return fmt.Errorf("its conditions are %v", bmc.Status.Conditions)
			}
			return nil
		})
	}
	for _, c := range w.claims {
		_, server := w.Bound(c.Name)
		farrier.Eventually(w.t, "Farrier has decided about "+server.Name, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return err
			}
			if len(server.Status.Conditions) == 0 || server.Spec.Power != "" {
				return fmt.Errorf("spec.power is %q, and the conditions are %v", server.Spec.Power, server.Status.Conditions)
			}
			return nil
		})
	}
	w.ServerIs(w.servers[w.free].Name, metalv1.ServerStateAvailable, metalv1.ServerOffPowerState) // found out anew
	for _, b := range machines[:2] {
		before, _ := b.heard()
		farrier.Eventually(w.t, "Farrier looks at the machine of "+b.name, func(context.Context) error {
			if now, _ := b.heard(); now < before+looks {
				return fmt.Errorf("%d times since it decided", now-before)
			}
			return nil
		})
	}
}

// untold fails the test if the BMC of a claimed machine was told anything: to switch it, or what to boot.
func (w *world) untold(machines []*bmc) {
	w.t.Helper()
	for _, b := range machines[:2] {
		if _, told := b.heard(); len(told) > 0 {
			w.t.Errorf("%s was told: %q", b.name, told)
		}
	}
	if power := w.running.system(w.t)["PowerState"]; power != "On" {
		w.t.Errorf("the running machine is %v", power)
	}
	if power := w.maintained.system(w.t)["PowerState"]; power != "Off" {
		w.t.Errorf("the machine in maintenance is %v", power)
	}
}

// accepted fails the test unless metal-operator's definitions admit what Farrier made of the objects: whoever goes back finds them in order.
func (w *world) accepted() {
	w.t.Helper()
	strict := client.WithFieldValidation(w.Client, metav1.FieldValidationStrict)
	for object := range w.uids {
		farrier.Eventually(w.t, object.GetName()+" can be written as metal-operator does", func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			object.SetAnnotations(map[string]string{"back": "again"}) // without a change there would be nothing to judge
			return strict.Update(ctx, object, client.DryRunAll)
		})
		if err := strict.Status().Update(w.t.Context(), object, client.DryRunAll); err != nil {
			w.t.Errorf("status of %T %s: %v", object, object.GetName(), err)
		}
	}
}

// kept fails the test unless objects, references and credentials are what they were. Owner references by which the garbage collector would
// delete a machine or a password are gone: a Server's to its BMC, and a BMC's and a BMCSecret's to an Endpoint.
func (w *world) kept() {
	w.t.Helper()
	for object, uid := range w.uids {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetUID() != uid || object.GetDeletionTimestamp() != nil {
			w.t.Errorf("%T %s is another one or leaves: %v", object, object.GetName(), err)
		}
	}
	for b, server := range w.servers {
		if len(server.OwnerReferences) > 0 || server.Spec.BMCRef == nil || server.Spec.BMCRef.Name != b.name || server.Labels["rack"] != "7" {
			w.t.Errorf("the Server of %s has BMC %v, labels %v and owners %v", b.name, server.Spec.BMCRef, server.Labels, server.OwnerReferences)
		}
		secret := &metalv1.BMCSecret{}
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: b.name}, secret); err != nil {
			w.t.Error(err)
		}
		if string(secret.Data[metalv1.BMCSecretUsernameKeyName]) != username || string(secret.Data[metalv1.BMCSecretPasswordKeyName]) != password {
			w.t.Errorf("the credentials of %s have changed", b.name)
		}
		if len(secret.OwnerReferences) > 0 {
			w.t.Errorf("the credentials of %s would go with %v", b.name, secret.OwnerReferences)
		}
	}
	for _, claim := range w.claims {
		configuration := &metalv1.ServerBootConfiguration{}
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(claim), configuration); err != nil {
			w.t.Error(err)
		}
		if owner := metav1.GetControllerOf(configuration); owner == nil || owner.UID != claim.UID || claim.Status.Phase != metalv1.PhaseBound {
			w.t.Errorf("the claim %s is %q, and its boot configuration is owned by %v", claim.Name, claim.Status.Phase, owner)
		}
	}
	if w.maintenance.Status.State != metalv1.ServerMaintenanceStateInMaintenance || w.servers[w.maintained].Status.State != metalv1.ServerStateMaintenance {
		w.t.Errorf("the maintenance is %q, and its server %q", w.maintenance.Status.State, w.servers[w.maintained].Status.State)
	}
}

// maintenanceEnds: the server goes back to its claim, which wants it on.
func (w *world) maintenanceEnds() {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), w.maintenance); err != nil {
		w.t.Fatal(err)
	}
	w.Gone(w.maintenance)
	w.ServerIs(w.servers[w.maintained].Name, metalv1.ServerStateReserved, metalv1.ServerOnPowerState)
}

// released: a claim of metal-operator is deleted, and its server is wiped and free.
func (w *world) released() {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), w.claims[0]); err != nil {
		w.t.Fatal(err)
	}
	w.Gone(w.claims[0])
	w.Released(w.servers[w.running].Name)
	farrier.Eventually(w.t, "the BMC was told to boot the probe", func(context.Context) error {
		if _, told := w.running.heard(); len(told) == 0 {
			return errors.New("it was told nothing: the machine was not wiped")
		}
		return nil
	})
}
