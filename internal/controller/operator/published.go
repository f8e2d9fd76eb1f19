package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Published is the name of the ConfigMap, in the manager's namespace, that says where operators are answered.
const Published = "farrier-operator"

// Keys of that ConfigMap.
const (
	keyURL = "url"
	keyCA  = "ca.crt"
)

// Address is where operators are answered.
type Address struct {
	// URL is the base, https.
	URL string
	// CA holds the authorities, PEM, that its certificate is verified with; empty: those of the system.
	CA []byte
}

// Publish says where operators are answered, in place of what was said before. live reads past the cache.
func Publish(ctx context.Context, c client.Client, live client.Reader, namespace string, at Address) error {
	data := map[string]string{keyURL: at.URL}
	if len(at.CA) > 0 {
		data[keyCA] = string(at.CA)
	}
	return PublishData(ctx, c, live, namespace, Published, data)
}

// PublishData makes a ConfigMap hold the data and nothing else.
func PublishData(ctx context.Context, c client.Client, live client.Reader, namespace, name string, data map[string]string) error {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch {
	case apierrors.IsNotFound(err):
		obj.Data = data
		err = c.Create(ctx, obj)
	case err == nil && !equality.Semantic.DeepEqual(obj.Data, data):
		obj.Data = data
		err = c.Update(ctx, obj)
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s: %w", namespace, name, err)
	}
	return nil
}

// Find reads what Publish has written. Its error is that of the Kubernetes API.
func Find(ctx context.Context, c client.Reader, namespace string) (Address, error) {
	var obj corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Published}, &obj); err != nil {
		return Address{}, err
	}
	return Address{URL: obj.Data[keyURL], CA: []byte(obj.Data[keyCA])}, nil
}
