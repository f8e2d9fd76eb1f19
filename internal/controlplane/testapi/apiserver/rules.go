package main

import (
	"context"
	"fmt"

	"github.com/farrier-dev/farrier/internal/admission/cached"
	"github.com/farrier-dev/farrier/internal/admission/plugin"
	"github.com/farrier-dev/farrier/internal/controlplane"
)

// managerNamespace is what tests of admission take for the manager's.
const managerNamespace = "farrier-system"

// rulesPlugin is the admission of farrier up, on a server where nothing else of it runs.
func rulesPlugin(p *plugin.Plugin) controlplane.AdmissionPlugin {
	return controlplane.AdmissionPlugin{Name: plugin.Name, Factory: p.Factory}
}

// serveRules gives the plugin its rules. The data directory has to have the CRDs.
func serveRules(ctx context.Context, server *controlplane.Server, p *plugin.Plugin) error {
	rules, err := cached.Rules(ctx, server.RESTConfig(), managerNamespace, make(chan error, 1))
	if err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	p.Serve(rules)
	return nil
}
