package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of this package.
const GroupName = "metal.ironcore.dev"

var (
	// GroupVersion is the group and version of the types of this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of this package with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Endpoint{}, &EndpointList{},
		&BMC{}, &BMCList{},
		&BMCSecret{}, &BMCSecretList{},
		&Server{}, &ServerList{},
		&ServerClaim{}, &ServerClaimList{},
		&ServerBootConfiguration{}, &ServerBootConfigurationList{},
		&ServerMaintenance{}, &ServerMaintenanceList{},
		&BIOSSettings{}, &BIOSSettingsList{},
		&ServerReadinessRule{}, &ServerReadinessRuleList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
