package controlplane

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
	"k8s.io/kubernetes/plugin/pkg/admission/gc"
)

// AdmissionPlugin is an admission plugin that runs inside the API server: no TLS hop, no certificate to rotate, nothing an administrator can
// delete, and in force before the first request is served.
type AdmissionPlugin struct {
	Name    string
	Factory admission.Factory
}

// admissionOptions enable what is useful without pods: namespace lifecycle, admission policies and webhooks, in the order the API server
// recommends, and ours before them so that theirs see what ours made of an object. Then two that keep tenants apart: nobody holds up the
// deletion of what he may not change by being owned by it, and quotas are enforced. Those come last, as what is refused must not be counted.
func admissionOptions(plugins []AdmissionPlugin) *kubeoptions.AdmissionOptions {
	opts := genericoptions.NewAdmissionOptions()
	order := make([]string, 0, len(plugins)+len(opts.RecommendedPluginOrder))
	for _, plugin := range plugins {
		opts.Plugins.Register(plugin.Name, plugin.Factory)
		order = append(order, plugin.Name)
	}
	gc.Register(opts.Plugins)
	resourcequota.Register(opts.Plugins)
	order = append(order, opts.RecommendedPluginOrder...)
	opts.RecommendedPluginOrder = append(order, gc.PluginName, resourcequota.PluginName)
	return &kubeoptions.AdmissionOptions{GenericAdmission: opts}
}
