package derivedboot

import (
	"k8s.io/apimachinery/pkg/api/equality"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Status of a new boot configuration is silent as long as it could say nothing but that all is well. What it would say is here.

// Status is what there is to say of a boot configuration: its status, and while that is silent what was described last.
func (c *Configs) Status(config *metalv1.ServerBootConfiguration) metalv1.ServerBootConfigurationStatus {
	if c == nil || config.Status.State != "" {
		return config.Status
	}
	b := c.of(config)
	if b == nil {
		return config.Status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.unsaid == nil {
		return config.Status
	}
	return *b.unsaid.DeepCopy()
}

// Describe keeps what there is to say of a boot configuration whose status is silent; nil: status is not. The Server is told where it is something
// else than before.
func (c *Configs) Describe(config *metalv1.ServerBootConfiguration, unsaid *metalv1.ServerBootConfigurationStatus) {
	b := c.of(config)
	if b == nil {
		return
	}
	c.mu.Lock()
	news := unsaid != nil && (b.unsaid == nil || !equality.Semantic.DeepEqual(b.unsaid, unsaid))
	if b.unsaid = nil; unsaid != nil {
		b.unsaid = unsaid.DeepCopy()
	}
	c.mu.Unlock()
	if news && c.Described != nil {
		c.Described(config.Spec.ServerRef.Name)
	}
}
