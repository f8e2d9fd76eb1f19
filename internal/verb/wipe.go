package verb

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
)

// Wipe has the disks of a server erased that belongs to nobody. A server is wiped when somebody gives it back, and in no other way: so one that
// is free is claimed without an image, and given back.
func Wipe(ctx context.Context, t Target, mode string) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	ref := f.Server.Spec.ServerClaimRef
	switch state := f.Server.Status.State; {
	case state == metalv1.ServerStateReleased:
		return t.wipeReleased(f, mode)
	case ref != nil:
		return nil, fmt.Errorf("wipe: claim %s/%s has %s, and its data is not ours to erase: farrier release %s -n %s gives the server back, and wipes it", ref.Namespace, ref.Name, t.Server, ref.Name, ref.Namespace)
	case state == metalv1.ServerStateError && f.Server.Annotations[metalv1.AnnotationClaimedBy] != "":
		return t.wipeAgain(ctx, mode)
	case state == metalv1.ServerStateAvailable && f.Server.Spec.Unclaimable:
		return nil, fmt.Errorf("wipe: %s is cordoned, and the claim that it would be wiped after cannot have it: farrier uncordon %s", t.Server, t.Server)
	case state == metalv1.ServerStateAvailable:
		return t.wipeFree(f, mode), nil
	}
	return nil, fmt.Errorf("wipe: %s is %s: only a server that is Available, Released, or in Error after a cleanup is wiped on request", t.Server, f.Server.Status.State)
}

// wiped waits until the server has nothing left of its last user.
func (t Target) wiped(uid string) (look func(context.Context) (bool, string, error), done func() string) {
	said := ""
	look = func(ctx context.Context) (bool, string, error) {
		now, clean, doing, err := t.returned(ctx, uid)
		said = now
		return clean, doing, err
	}
	return look, func() string { return said }
}

// notChosen refuses a mode where what the last claim and the server ask for counts.
func notChosen(mode string) error {
	if mode == "" {
		return nil
	}
	return fmt.Errorf("--mode: a server that was used is wiped as Farrier is configured and its last claim asked; annotation %s of the Server asks for more", metalv1.AnnotationCleanup)
}

// wipeReleased gives up what was kept of a server's last user.
func (t Target) wipeReleased(f overview.Facts, mode string) ([]Order, error) {
	fields := merge{"spec": merge{"serverClaimRef": nil}}
	look, done := t.wiped(f.Server.Annotations[metalv1.AnnotationClaimedBy])
	o := Order{
		Kubectl: []string{kubectlPatch("server", f.Server, fields)},
		Write:   func(ctx context.Context) error { return patch(ctx, t.API, f.Server, fields) },
		Done:    done,
	}
	kept := look
	o.Look = func(ctx context.Context) (bool, string, error) {
		now, err := t.facts(ctx)
		if err == nil && now.Server.Status.State == metalv1.ServerStateReleased {
			return false, doing(now), nil
		}
		return kept(ctx)
	}
	return []Order{o}, notChosen(mode)
}

// wipeAgain repeats a cleanup that has failed.
func (t Target) wipeAgain(ctx context.Context, mode string) ([]Order, error) {
	if err := notChosen(mode); err != nil {
		return nil, err
	}
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	o, err := operate(ctx, t, metalv1.OperationRetry)
	if err != nil {
		return nil, err
	}
	asked := o.Look
	look, done := t.wiped(f.Server.Annotations[metalv1.AnnotationClaimedBy])
	o.Look = func(ctx context.Context) (bool, string, error) {
		if taken, doing, err := asked(ctx); !taken {
			return false, doing, err
		}
		return look(ctx)
	}
	o.Done = done
	return []Order{o}, nil
}

// wipeFree claims a free server without an image, and gives it back.
func (t Target) wipeFree(f overview.Facts, mode string) []Order {
	if mode == "" {
		mode = metalv1.CleanupFull
	}
	claim := &metalv1.ServerClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: metalv1.GroupVersion.String(), Kind: "ServerClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, Name: "wipe-" + t.Server, Labels: sameInstallation(f.Server.Labels), Annotations: map[string]string{metalv1.AnnotationCleanup: mode},
		},
		Spec: metalv1.ServerClaimSpec{Power: metalv1.PowerOff, ServerRef: &metalv1.LocalObjectReference{Name: t.Server}},
	}
	for _, taint := range f.Server.Spec.Taints {
		claim.Spec.Tolerations = append(claim.Spec.Tolerations, metalv1.Toleration{Key: taint.Key, Operator: metalv1.TolerationOpExists})
	}
	remove := func(ctx context.Context) error { return t.API.Delete(ctx, claim) }
	take := Order{
		Kubectl: []string{
			kubectlCreate(claim),
			fmt.Sprintf("kubectl wait serverclaim %s -n %s --for=condition=Bound", claim.Name, claim.Namespace),
		},
		Write: func(ctx context.Context) error {
			if err := t.API.Create(ctx, claim); err != nil {
				return fmt.Errorf("create claim %s/%s: %w", claim.Namespace, claim.Name, err)
			}
			return nil
		},
		Look: func(ctx context.Context) (bool, string, error) {
			now, err := Target{API: t.API, Namespace: claim.Namespace, Claim: claim.Name}.facts(ctx)
			if err != nil {
				return false, "", err
			}
			return now.Claim.Status.Phase == metalv1.ServerClaimPhaseBound, doing(now), nil
		},
		Undo: remove,
	}
	give := Order{
		Kubectl: []string{fmt.Sprintf("kubectl delete serverclaim %s -n %s", claim.Name, claim.Namespace)},
		Write:   remove,
	}
	said := ""
	give.Look = func(ctx context.Context) (done bool, doing string, err error) {
		said, done, doing, err = t.returned(ctx, string(claim.UID))
		return done, doing, err
	}
	give.Done = func() string { return said }
	return []Order{take, give}
}
