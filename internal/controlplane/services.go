package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	apirest "k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/apis/core"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
)

// services are what a control plane without a network has of them: none, ever. They can be listed, because 'kubectl cluster-info' and whoever
// looks for Services first would otherwise stop at the error that there is no such kind.
type services struct{ apirest.TableConvertor }

var serviceResource = corev1.Resource("services")

// New implements rest.Storage.
func (services) New() runtime.Object { return &core.Service{} }

// Destroy implements rest.Storage.
func (services) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (services) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (services) GetSingularName() string { return "service" }

// ShortNames implements rest.ShortNamesProvider.
func (services) ShortNames() []string { return []string{"svc"} }

// NewList implements rest.Lister.
func (services) NewList() runtime.Object { return &core.ServiceList{} }

// List implements rest.Lister.
func (services) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return &core.ServiceList{Items: []core.Service{}}, nil
}

// Get implements rest.Getter.
func (services) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(serviceResource, name)
}

// withServices adds them to the storage of the core group.
type withServices struct {
	controlplaneapiserver.RESTStorageProvider
}

// NewRESTStorage implements controlplaneapiserver.RESTStorageProvider.
func (p withServices) NewRESTStorage(enabled serverstorage.APIResourceConfigSource, options generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error) {
	info, err := p.RESTStorageProvider.NewRESTStorage(enabled, options)
	if err != nil {
		return info, err
	}
	kinds, ok := info.VersionedResourcesStorageMap[corev1.SchemeGroupVersion.Version]
	if !ok {
		return info, fmt.Errorf("the core group is not served in version %s", corev1.SchemeGroupVersion.Version)
	}
	kinds[serviceResource.Resource] = services{apirest.NewDefaultTableConvertor(serviceResource)}
	return info, nil
}
