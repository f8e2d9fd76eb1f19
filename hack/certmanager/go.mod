// The version of cert-manager whose definitions the manifests of docs/boot-servers.md are checked against (test/bootservers). Nothing of it
// is part of Farrier, so it has a module of its own.
module github.com/farrier-dev/farrier/hack/certmanager

go 1.26.0

// There is no such tool: it keeps the requirement.
tool github.com/cert-manager/cert-manager/pkg/apis/certmanager

require github.com/cert-manager/cert-manager v1.21.2 // indirect
