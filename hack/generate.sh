#!/usr/bin/env bash
# Writes everything that is generated: from the types in api/ their deep copies
# beside them, the CRDs in config/crd, and the kinds of boot configs that roles and
# webhooks name, with the copies in the Helm chart, and of what that renders the kustomize bases; from the protocol of the boot stream its Go code. The generators are
# pinned here and stand outside go.mod, so that nobody who imports a package of ours
# pays for them.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../api"

controller_gen=(go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0)

"${controller_gen[@]}" object paths=./...
"${controller_gen[@]}" crd paths=./... output:crd:artifacts:config=../config/crd

# The API server reads date-time more loosely than Go does (RFC 3339 with a small t, offsets of 99 hours), and one object that a
# client cannot decode keeps it from all others of the kind. So the schemas say what Go reads.
sed -i -E 's/^( *)format: date-time$/&\n\1pattern: ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/' ../config/crd/*.yaml

# Roles and webhooks name the kinds of boot configs, of which each boot method has one.
cd ../config
kinds=$(ls crd/boot.ironcore.dev_*.yaml | sed 's/.*_//; s/\.yaml$//' | sort)
resources=$(paste -sd, <<<"$kinds" | sed 's/,/, /g')
statuses=$(sed 's,$,/status,' <<<"$kinds" | paste -sd, | sed 's/,/, /g')
sed -i -E "/apiGroups: \[boot\.ironcore\.dev\]/,/resources:/ {
  s|resources: \[[^]/]*\]|resources: [$resources]|
  s|resources: \[[^]]*/status\]|resources: [$statuses]|
}" manager/rbac.yaml tenant/role.yaml webhook/configurations.yaml

# Helm packs nothing but what is in the folder of the chart, so the chart has copies.
rm -rf ../charts/farrier/files
mkdir -p ../charts/farrier/files/{crd,manager,monitoring,webhook}
for folder in crd manager webhook; do cp "$folder"/*.yaml "../charts/farrier/files/$folder"; done
cp monitoring/{rules.yaml,dashboard.json} ../charts/farrier/files/monitoring
(cd ../hack/charttest && CGO_ENABLED=0 go run -trimpath -buildvcs=false ./writebases)

generators=$(mktemp -d)
trap 'rm -rf "$generators"' EXIT
(cd ../hack/protogen && go build -o "$generators" .)
GOBIN="$generators" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.8
GOBIN="$generators" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
cd ../internal/bootstream/streampb
"$generators/protogen" bootstream.proto "$generators/protoc-gen-go" "$generators/protoc-gen-go-grpc"
