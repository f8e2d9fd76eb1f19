package controlplane

import (
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// kubernetesModule is where the code of the API server comes from.
const kubernetesModule = "k8s.io/kubernetes"

// servedVersion answers /version with the release of the Kubernetes module that was built in. Kubernetes' own builds set it with linker
// flags; without them the API says v0.0.0-master, which kubectl version cannot parse.
type servedVersion struct{ compatibility.EffectiveVersion }

// Served is an effective version that answers so.
func Served(v compatibility.EffectiveVersion) compatibility.EffectiveVersion { return servedVersion{v} }

// Info implements compatibility.EffectiveVersion.
func (v servedVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	build, ok := debug.ReadBuildInfo()
	if info == nil || !ok {
		return info
	}
	for _, module := range build.Deps {
		if module.Path == kubernetesModule {
			info.GitVersion, info.GitCommit, info.GitTreeState, info.BuildDate = module.Version, "", "", ""
		}
	}
	return info
}
