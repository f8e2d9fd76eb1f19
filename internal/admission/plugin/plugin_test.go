package plugin_test

import (
	"testing"

	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// TestPlugin holds the plugin in a real API server to what the rules are held to.
func TestPlugin(t *testing.T) {
	api := admissiontest.NewAPI(t, testapi.StartWith(t, "--rules").RESTConfig())
	t.Run("Cases", func(t *testing.T) { admissiontest.Run(t, api) })
	t.Run("LabelKeys", func(t *testing.T) { admissiontest.LabelKeys(t, api) })
}
