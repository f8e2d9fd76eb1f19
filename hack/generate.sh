#!/usr/bin/env bash
# Writes everything that is generated from the types in api/: their deep copies
# beside them, and the CRDs in config/crd. The generator is pinned here and stands
# outside go.mod, so that nobody who imports a package of ours pays for it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../api"

controller_gen=(go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0)

"${controller_gen[@]}" object paths=./...
"${controller_gen[@]}" crd paths=./... output:crd:artifacts:config=../config/crd
