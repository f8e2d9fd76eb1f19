package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// Target is what an order is about.
type Target struct {
	API client.Client
	// Server is a Server's name. Claim, in Namespace, stands for the server that it has.
	Server    string
	Namespace string
	Claim     string
}

// facts reads the server and what belongs to it. A claim without a server has no Server.
func (t Target) facts(ctx context.Context) (f overview.Facts, err error) {
	name := t.Server
	if t.Claim != "" {
		if f.Claim, err = t.claim(ctx, t.Namespace, t.Claim); err != nil {
			return f, err
		}
		if f.Claim.Spec.ServerRef == nil || f.Claim.Spec.ServerRef.Name == "" || f.Claim.Status.Phase != metalv1.ServerClaimPhaseBound {
			return f, nil
		}
		name = f.Claim.Spec.ServerRef.Name
	}
	server := &metalv1.Server{}
	err = t.API.Get(ctx, client.ObjectKey{Name: name}, server)
	switch {
	case t.Claim != "" && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)): // a tenant may see claims alone
		return f, nil
	case apierrors.IsNotFound(err):
		return f, NoServer(ctx, t.API, name)
	case err != nil:
		return f, fmt.Errorf("Server %q: %w", name, err)
	}
	f.Server = server
	if ref := server.Spec.ServerClaimRef; f.Claim == nil && ref != nil {
		if f.Claim, err = t.claim(ctx, ref.Namespace, ref.Name); err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return f, err
		}
	}
	if ref := server.Spec.BootConfigurationRef; ref != nil {
		boot := &metalv1.ServerBootConfiguration{}
		if err := t.API.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, boot); err == nil { // it only tells how far a boot is
			f.Boot = boot
		}
	}
	return f, nil
}

// NoServer says that there is no Server of a name, and which one was probably meant.
func NoServer(ctx context.Context, api client.Reader, name string) error {
	names, _ := Names(ctx, api, "Server") // which one was meant is not worth another error
	return fmt.Errorf("there is no Server %q%s", name, usage.Meant(usage.SimilarTo(names, name), "%s"))
}

// Names are the names of all objects of a kind of metal.ironcore.dev.
func Names(ctx context.Context, api client.Reader, kind string, options ...client.ListOption) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(metalv1.GroupVersion.WithKind(kind + "List"))
	if err := api.List(ctx, list, options...); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

func (t Target) claim(ctx context.Context, namespace, name string) (*metalv1.ServerClaim, error) {
	var claim metalv1.ServerClaim
	if err := t.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no claim %s/%s: %w", namespace, name, err)
		}
		return nil, fmt.Errorf("claim %s/%s: %w", namespace, name, err)
	}
	return &claim, nil
}

// doing says what a server does, for people who wait.
func doing(f overview.Facts) string {
	if f.Server == nil {
		if why := overview.Said(f.Claim.Status.Conditions, metalv1.ConditionBound, metav1.ConditionFalse); why != "" {
			return printable.Line("waits for a server: " + why)
		}
		return "waits for a server"
	}
	text := fmt.Sprintf("%s is %s, power %s", f.Server.Name, f.Server.Status.State, f.Server.Status.PowerState)
	if does := f.Activity(time.Now()).Doing; does != "" {
		text += ": " + does
	}
	return printable.Line(text)
}

// hopeless is why a claim cannot boot until somebody changes something; nil: it can.
func hopeless(f overview.Facts) error {
	if why := f.BootRefused(); why != "" {
		return fmt.Errorf("claim %s/%s: %s", f.Claim.Namespace, f.Claim.Name, printable.Line(why))
	}
	return nil
}

// errorState is why a server needs a person; nil: it does not.
func errorState(f overview.Facts) error {
	if f.Server != nil && f.Server.Status.State == metalv1.ServerStateError {
		return fmt.Errorf("%s", doing(f))
	}
	return nil
}

// merge is a change of some fields of an object.
type merge map[string]any

// patch writes fields of an object. It fails if the object has changed since it was read.
func patch(ctx context.Context, api client.Client, obj client.Object, fields merge) error {
	locked := merge{}
	for key, value := range fields {
		locked[key] = value
	}
	metadata := merge{"resourceVersion": obj.GetResourceVersion()}
	if given, ok := fields["metadata"].(merge); ok {
		for key, value := range given {
			metadata[key] = value
		}
	}
	locked["metadata"] = metadata
	content, err := json.Marshal(locked)
	if err != nil {
		return err
	}
	return api.Patch(ctx, obj, client.RawPatch(types.MergePatchType, content))
}

// kubectlPatch is the command that writes the same.
func kubectlPatch(resource string, obj client.Object, fields merge) string {
	content, err := json.Marshal(fields)
	if err != nil {
		return "# " + err.Error()
	}
	return fmt.Sprintf("kubectl patch %s %s%s --type merge -p '%s'", resource, obj.GetName(), inNamespace(obj.GetNamespace()), content)
}

// sameInstallation are the labels by which an object belongs to the same installation as one with the given labels.
func sameInstallation(labels map[string]string) map[string]string {
	value, has := labels[metalv1.LabelWatchFilter]
	if !has {
		return nil
	}
	return map[string]string{metalv1.LabelWatchFilter: value}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

// kubectlCreate is the command that creates objects, as a person would write them.
func kubectlCreate(objects ...client.Object) string {
	text := "kubectl create -f - <<'END'\n"
	for i, obj := range objects {
		if i > 0 {
			text += "---\n"
		}
		content, err := manifest(obj)
		if err != nil {
			return "# " + err.Error()
		}
		text += string(content)
	}
	return text + "END"
}

// manifest is an object without what an API adds.
func manifest(obj client.Object) ([]byte, error) {
	content, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return yaml.Marshal(fields)
}

// conditionTrue reports whether a condition of a claim holds.
func conditionTrue(conditions []metav1.Condition, kind string) bool {
	return apimeta.IsStatusConditionTrue(conditions, kind)
}
