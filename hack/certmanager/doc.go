// Package certmanager pins the version of cert-manager whose definitions the tests of docs/boot-servers.md are run against. Nothing of it is
// part of Farrier, so it has a module of its own.
package certmanager

import _ "github.com/cert-manager/cert-manager/pkg/apis/certmanager" // keeps the requirement
