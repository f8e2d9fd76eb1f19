package takeover

import (
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/farrier-dev/farrier/test/clients/objects"
)

// finalizer is the one of metal-operator for a kind.
func finalizer(kind string) []string { return []string{"metal.ironcore.dev/" + kind} }

// left writes objects as metal-operator leaves them.
type left struct {
	*objects.Objects
	t     *testing.T
	image string
}

// put creates an object and then writes its status, as controllers do.
func (l *left) put(object client.Object, status func()) {
	l.t.Helper()
	if err := l.Create(l.t.Context(), object); err != nil {
		l.t.Fatalf("%T %s: %v", object, object.GetName(), err)
	}
	if status == nil {
		return
	}
	status()
	if err := l.Status().Update(l.t.Context(), object); err != nil {
		l.t.Fatalf("status of %T %s: %v", object, object.GetName(), err)
	}
}

func (l *left) owned(by, object client.Object) {
	l.t.Helper()
	if err := controllerutil.SetControllerReference(by, object, l.Scheme()); err != nil {
		l.t.Fatal(err)
	}
}

// bmc leaves an Endpoint with the BMC and the BMCSecret that it owns, and the Server that the BMC owns.
func (l *left) bmc(b *bmc, state metalv1.ServerState, power metalv1.ServerPowerState) *metalv1.Server {
	l.t.Helper()
	address := metalv1.MustParseIP("127.0.0.1")
	endpoint := &metalv1.Endpoint{
		ObjectMeta: metav1.ObjectMeta{Name: b.name, Finalizers: finalizer("endpoint")},
		Spec:       metalv1.EndpointSpec{MACAddress: b.mac, IP: address},
	}
	l.put(endpoint, nil)
	secret := &metalv1.BMCSecret{
		ObjectMeta: metav1.ObjectMeta{Name: b.name},
		Data:       map[string][]byte{metalv1.BMCSecretUsernameKeyName: []byte(username), metalv1.BMCSecretPasswordKeyName: []byte(password)},
	}
	l.owned(endpoint, secret)
	l.put(secret, nil)
	bmc := &metalv1.BMC{
		ObjectMeta: metav1.ObjectMeta{Name: b.name, Finalizers: finalizer("bmc")},
		Spec: metalv1.BMCSpec{
			EndpointRef: &corev1.LocalObjectReference{Name: b.name}, BMCSecretRef: corev1.LocalObjectReference{Name: b.name},
			Protocol:        metalv1.Protocol{Name: metalv1.ProtocolRedfish, Port: b.port, Scheme: metalv1.HTTPProtocolScheme},
			ConsoleProtocol: &metalv1.ConsoleProtocol{Name: metalv1.ConsoleProtocolNameIPMI, Port: 623},
		},
	}
	l.owned(endpoint, bmc)
	l.put(bmc, func() {
		bmc.Status.State, bmc.Status.PowerState, bmc.Status.IP, bmc.Status.MACAddress = metalv1.BMCStateEnabled, metalv1.OnPowerState, address, b.mac
	})
	server := &metalv1.Server{
		ObjectMeta: metav1.ObjectMeta{Name: b.name + "-system-0", Finalizers: finalizer("server"), Labels: map[string]string{"rack": "7"}},
		Spec:       metalv1.ServerSpec{SystemUUID: b.uuid, SystemURI: system, BMCRef: &corev1.LocalObjectReference{Name: b.name}},
	}
	l.owned(bmc, server)
	l.put(server, func() { server.Status.State, server.Status.PowerState = state, power })
	return server
}

// claim leaves a bound claim of a server, with its boot configuration and ignition.
func (l *left) claim(name string, server *metalv1.Server) *metalv1.ServerClaim {
	l.t.Helper()
	ignition := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: "ignition-" + name},
		Data:       map[string][]byte{"ignition": []byte(`{"ignition":{"version":"3.3.0"}}`)},
	}
	l.put(ignition, nil)
	claim := &metalv1.ServerClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: name, Finalizers: finalizer("serverclaim")},
		Spec: metalv1.ServerClaimSpec{
			Power: metalv1.PowerOn, Image: l.image,
			ServerRef: &corev1.LocalObjectReference{Name: server.Name}, IgnitionSecretRef: &corev1.LocalObjectReference{Name: ignition.Name},
		},
	}
	l.put(claim, func() { claim.Status.Phase = metalv1.PhaseBound })
	configuration := &metalv1.ServerBootConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name},
		Spec: metalv1.ServerBootConfigurationSpec{
			ServerRef: *claim.Spec.ServerRef, Image: claim.Spec.Image, IgnitionSecretRef: claim.Spec.IgnitionSecretRef,
		},
	}
	l.owned(claim, configuration)
	l.put(configuration, func() { configuration.Status.State = metalv1.ServerBootConfigurationStateReady })
	l.change(server, func() {
		server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: claim.Namespace, Name: claim.Name}
		server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: configuration.Namespace, Name: configuration.Name}
		server.Spec.Power = claim.Spec.Power
	})
	return claim
}

// maintenance leaves a maintenance in progress, for which its server is off.
func (l *left) maintenance(name string, server *metalv1.Server) *metalv1.ServerMaintenance {
	l.t.Helper()
	m := &metalv1.ServerMaintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: objects.Namespace, Name: name, Finalizers: finalizer("servermaintenance")},
		Spec: metalv1.ServerMaintenanceSpec{
			Policy: metalv1.ServerMaintenancePolicyEnforced, ServerPower: metalv1.PowerOff, ServerRef: &corev1.LocalObjectReference{Name: server.Name},
		},
	}
	l.put(m, func() { m.Status.State = metalv1.ServerMaintenanceStateInMaintenance })
	l.change(server, func() {
		server.Spec.ServerMaintenanceRef, server.Spec.Power = &metalv1.ObjectReference{Namespace: m.Namespace, Name: m.Name}, metalv1.PowerOff
	})
	return m
}

func (l *left) change(object client.Object, change func()) {
	l.t.Helper()
	base := object.DeepCopyObject().(client.Object)
	change()
	if err := l.Patch(l.t.Context(), object, client.MergeFrom(base)); err != nil {
		l.t.Fatalf("%T %s: %v", object, object.GetName(), err)
	}
}
