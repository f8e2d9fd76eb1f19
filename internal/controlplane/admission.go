package controlplane

import (
	"k8s.io/apiserver/pkg/admission"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// AdmissionPlugin is an admission plugin that runs inside the API server: no TLS hop, no certificate to rotate, nothing an administrator can
// delete, and in force before the first request is served.
type AdmissionPlugin struct {
	Name    string
	Factory admission.Factory
}

// admissionOptions enable what is useful without pods: namespace lifecycle, admission policies and webhooks, in the order the API server
// recommends, and ours before them so that theirs see what ours made of an object.
func admissionOptions(plugins []AdmissionPlugin) *kubeoptions.AdmissionOptions {
	opts := genericoptions.NewAdmissionOptions()
	order := make([]string, 0, len(plugins)+len(opts.RecommendedPluginOrder))
	for _, plugin := range plugins {
		opts.Plugins.Register(plugin.Name, plugin.Factory)
		order = append(order, plugin.Name)
	}
	opts.RecommendedPluginOrder = append(order, opts.RecommendedPluginOrder...)
	return &kubeoptions.AdmissionOptions{GenericAdmission: opts}
}
