package crds

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

const (
	pollInterval = 20 * time.Millisecond
	// establishTimeout is far beyond what any API server takes; it turns a conflict of names into an error instead of a hang.
	establishTimeout = 30 * time.Second
	// creationDelay is how long after a definition's establishment the API server holds back the creation of its objects, to let other
	// replicas of itself learn of it (apiextensions-apiserver, customresource_handler.go).
	creationDelay = 2 * time.Second
)

// Options change how definitions are installed.
type Options struct {
	// SingleServer says that one API server serves alone. New definitions are then marked as established a moment ago, because there is no
	// replica the API server would have to wait for: otherwise every first object of a new kind takes creationDelay to be created.
	SingleServer bool
}

// Install creates the definitions or updates those that differ, and returns when all of them are served.
func Install(ctx context.Context, cfg *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition, opts Options) error {
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{} // they are for the authors of definitions, who see them elsewhere
	clients, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("custom resource definitions: %w", err)
	}
	client := clients.ApiextensionsV1().CustomResourceDefinitions()
	for _, definition := range definitions {
		if err := apply(ctx, client, definition); err != nil {
			return fmt.Errorf("custom resource definition %s: %w", definition.Name, err)
		}
	}
	for _, definition := range definitions {
		if err := waitEstablished(ctx, client, definition.Name, opts); err != nil {
			return fmt.Errorf("custom resource definition %s: %w", definition.Name, err)
		}
	}
	return nil
}

func apply(ctx context.Context, client apiextensionsclient.CustomResourceDefinitionInterface, want *apiextensionsv1.CustomResourceDefinition) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := client.Get(ctx, want.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, want, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		updated := found.DeepCopy()
		updated.Spec = *want.Spec.DeepCopy()
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&updated.Spec)
		merge(&updated.Labels, want.Labels)
		merge(&updated.Annotations, want.Annotations)
		if equality.Semantic.DeepEqual(found.Spec, updated.Spec) && equality.Semantic.DeepEqual(found.ObjectMeta, updated.ObjectMeta) {
			return nil
		}
		_, err = client.Update(ctx, updated, metav1.UpdateOptions{})
		return err
	})
}

func merge(into *map[string]string, from map[string]string) {
	for key, value := range from {
		if *into == nil {
			*into = make(map[string]string, len(from))
		}
		(*into)[key] = value
	}
}

func waitEstablished(ctx context.Context, client apiextensionsclient.CustomResourceDefinitionInterface, name string, opts Options) error {
	state := "not seen"
	err := wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for i := range found.Status.Conditions {
			condition := &found.Status.Conditions[i]
			if condition.Status != apiextensionsv1.ConditionTrue {
				state = fmt.Sprintf("%s is %s: %s", condition.Type, condition.Status, condition.Message)
			}
			if condition.Type != apiextensionsv1.Established || condition.Status != apiextensionsv1.ConditionTrue {
				continue
			}
			if !opts.SingleServer || time.Since(condition.LastTransitionTime.Time) > creationDelay {
				return true, nil
			}
			condition.LastTransitionTime = metav1.NewTime(found.CreationTimestamp.Add(-2 * creationDelay))
			_, err := client.UpdateStatus(ctx, found, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				return false, nil
			}
			return err == nil, err
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("not established within %s (%s)", establishTimeout, state)
	}
	return err
}
