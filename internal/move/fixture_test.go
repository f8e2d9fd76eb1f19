package move_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
)

const managers = "farrier-system"

// began is when the machine of the claim was switched on.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// estate is what a source has: a server that runs for a claim, one that is free, and objects of all relations that a move has to keep.
type estate struct {
	t *testing.T
	client.Client
}

func (e *estate) create(obj client.Object) {
	e.t.Helper()
	if err := e.Create(e.t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
		e.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

func (e *estate) status(obj client.Object) {
	e.t.Helper()
	if err := e.Status().Update(e.t.Context(), obj); err != nil {
		e.t.Fatalf("status of %T %s: %v", obj, obj.GetName(), err)
	}
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func ownedBy(owner client.Object, kind string, group string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: group, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes}}
}

// settle builds the estate.
func (e *estate) settle() {
	e.t.Helper()
	for _, name := range []string{managers, "team", "vault"} {
		ns := &corev1.Namespace{ObjectMeta: meta("", name)}
		if name == "vault" {
			ns.Labels = map[string]string{metalv1.LabelBMCSecrets: metalv1.LabelBMCSecretsAllowed}
		}
		e.create(ns)
	}
	e.create(&corev1.Secret{ObjectMeta: meta(managers, "farrier-keys"), Data: map[string][]byte{"boot-token": []byte("0123456789012345678901234567890123")}})
	e.bmcs()
	claim := e.claim()
	config := e.bootConfiguration(claim)
	e.servers(claim, config)
	e.profiles()
}

func (e *estate) bmcs() {
	endpoint := &metalv1.Endpoint{ObjectMeta: meta("", "bmc-1")}
	endpoint.Spec.IP, endpoint.Spec.MACAddress = "192.0.2.10", "02:00:00:00:00:01"
	endpoint.Finalizers = []string{metalv1.FinalizerEndpoint}
	e.create(endpoint)
	e.create(&corev1.Secret{ObjectMeta: meta("vault", "login"), Data: map[string][]byte{"username": []byte("admin"), "password": []byte("hunter22")}})
	secret := &metalv1.BMCSecret{ObjectMeta: meta("", "bmc-1"), Data: map[string][]byte{"username": []byte("admin"), "password": []byte("factory")}}
	e.create(secret)
	e.create(&metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "other", Annotations: map[string]string{metalv1.AnnotationSecret: "vault/login"}}})
	bmc := &metalv1.BMC{ObjectMeta: meta("", "bmc-1")}
	bmc.Finalizers = []string{metalv1.FinalizerBMC}
	bmc.Annotations = map[string]string{metalv1.AnnotationCredentialsAccepted: string(secret.UID) + "/1"}
	bmc.Spec.EndpointRef, bmc.Spec.BMCSecretRef.Name = &metalv1.LocalObjectReference{Name: "bmc-1"}, "bmc-1"
	bmc.Spec.Protocol.Name, bmc.Spec.Protocol.Port = "Redfish", 8000
	e.create(bmc)
	bmc.Status.Model, bmc.Status.ObservedGeneration = "Model 1", bmc.Generation
	e.status(bmc)
	// The two mention each other.
	secret.Annotations = map[string]string{metalv1.AnnotationCredentialsOf: string(bmc.UID)}
	if err := e.Update(e.t.Context(), secret); err != nil {
		e.t.Fatal(err)
	}
}

func (e *estate) claim() *metalv1.ServerClaim {
	e.create(&corev1.Secret{ObjectMeta: meta("team", "web"), Data: map[string][]byte{"ignition": []byte("{}")}})
	e.create(&corev1.Secret{ObjectMeta: meta("team", "pull"), Data: map[string][]byte{"x": []byte("y")}})
	e.create(&corev1.Secret{ObjectMeta: meta("team", "unrelated"), Data: map[string][]byte{"x": []byte("y")}})
	claim := &metalv1.ServerClaim{ObjectMeta: meta("team", "web")}
	claim.Finalizers = []string{metalv1.FinalizerServerClaim}
	claim.Annotations = map[string]string{metalv1.AnnotationImagePullSecret: "pull"}
	claim.Spec.Power, claim.Spec.Image = metalv1.PowerOn, "registry.example/os:1"
	claim.Spec.ServerRef, claim.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "server-1"}, &metalv1.LocalObjectReference{Name: "web"}
	e.create(claim)
	claim.Status.Phase, claim.Status.ObservedGeneration = metalv1.ServerClaimPhaseBound, claim.Generation
	e.status(claim)
	// One that somebody has deleted: its server has not let go yet.
	going := &metalv1.ServerClaim{ObjectMeta: meta("team", "going")}
	going.Finalizers = []string{metalv1.FinalizerServerClaim}
	going.Spec.Power, going.Spec.Image = metalv1.PowerOff, "registry.example/os:1"
	e.create(going)
	if err := e.Delete(e.t.Context(), going); err != nil {
		e.t.Fatal(err)
	}
	return claim
}

func (e *estate) bootConfiguration(claim *metalv1.ServerClaim) *metalv1.ServerBootConfiguration {
	config := &metalv1.ServerBootConfiguration{ObjectMeta: meta("team", "web")}
	config.OwnerReferences = ownedBy(claim, "ServerClaim", metalv1.GroupVersion.String())
	attempt := bootattempt.Attempt{ID: "a1", Number: 1, Ordered: &began, Started: &began, Generation: 1, Ignition: "fingerprint"}
	config.Annotations = map[string]string{metalv1.AnnotationClaimedBy: string(claim.UID), metalv1.AnnotationBootAttempt: attempt.String()}
	config.Spec.ServerRef.Name, config.Spec.Image = "server-1", "registry.example/os:1"
	config.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "web"}
	e.create(config)
	config.Status.State, config.Status.ObservedGeneration = metalv1.ServerBootConfigurationStateReady, config.Generation
	e.status(config)
	ipxe := &bootv1.IPXEBootConfig{ObjectMeta: meta("team", "web")}
	ipxe.OwnerReferences = ownedBy(config, "ServerBootConfiguration", metalv1.GroupVersion.String())
	ipxe.Annotations = map[string]string{metalv1.AnnotationMadeFor: string(config.UID)}
	ipxe.Spec.SystemUUID = "38947555-7742-3448-3784-823347823834"
	ipxe.Spec.KernelURL, ipxe.Spec.InitrdURL = "http://192.0.2.1/kernel", "http://192.0.2.1/initrd"
	e.create(ipxe)
	return config
}

func (e *estate) servers(claim *metalv1.ServerClaim, config *metalv1.ServerBootConfiguration) {
	server := &metalv1.Server{ObjectMeta: meta("", "server-1")}
	server.Finalizers = []string{metalv1.FinalizerServer}
	server.Annotations = map[string]string{metalv1.AnnotationClaimedBy: string(claim.UID), metalv1.AnnotationInstalled: string(config.UID) + "/sha256:1"}
	server.Spec.SystemUUID, server.Spec.BMCRef = "38947555-7742-3448-3784-823347823834", &metalv1.LocalObjectReference{Name: "bmc-1"}
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "team", Name: "web"}
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "team", Name: "web"}
	e.create(server)
	server.Status.State, server.Status.PowerState = metalv1.ServerStateReserved, metalv1.PowerStateOn
	e.status(server)
	free := &metalv1.Server{ObjectMeta: meta("", "server-2")}
	free.Finalizers = []string{metalv1.FinalizerServer}
	free.Spec.SystemUUID, free.Spec.BMCRef = "38947555-7742-3448-3784-823347823835", &metalv1.LocalObjectReference{Name: "bmc-1"}
	e.create(free)
	free.Status.State = metalv1.ServerStateAvailable
	e.status(free)
	record := machinerecord.New(managers, machinerecord.InspectionName("server-2"), machinerecord.KindInspection, "server-2", "a0", []byte("packed"))
	e.create(record)
	e.create(machinerecord.New(managers, machinerecord.CleanupName("server-2", "11111111-2222-4333-8444-555555555555"), machinerecord.KindCleanup, "server-2", "a0", []byte("packed")))
}

func (e *estate) profiles() {
	e.create(&corev1.ConfigMap{ObjectMeta: meta("team", "content"), Data: map[string]string{"a": "b"}})
	e.create(rescue())
	for i, name := range []string{"zz-first", "aa-second"} {
		assignment := &ipxev1.Assignment{ObjectMeta: meta("team", name)}
		assignment.Annotations = map[string]string{ipxev1.AnnotationAdmitted: began.Add(time.Duration(i)).Format(time.RFC3339Nano)}
		assignment.Spec.ProfileName = "rescue"
		assignment.Spec.SubjectSelector = map[string]string{"uuid": "38947555-7742-3448-3784-82334782383" + string(name[0]%10+'0')}
		e.create(assignment)
	}
}

// namespace makes what every side has from the beginning.
func (e *estate) namespace() {
	e.create(&corev1.Namespace{ObjectMeta: meta("", managers)})
}

func rescue() *ipxev1.Profile {
	profile := &ipxev1.Profile{ObjectMeta: meta("team", "rescue")}
	profile.Spec.IPXE = "#!ipxe\nexit\n"
	profile.Spec.AdditionalContent = []ipxev1.AdditionalContent{{Name: "a", ConfigMapRef: &ipxev1.KeyReference{Name: "content", Key: "a"}}}
	return profile
}
