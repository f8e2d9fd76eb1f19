// Package charttest renders charts/farrier as Helm does and holds the objects to what the rest of the repository says: roles, definitions and
// webhooks are those of config/, flags are those of the built programs (FARRIER_TEST_MANAGER, FARRIER_TEST_BOOTSERVER), every object decodes strictly into
// its type, values that cannot work are refused by name before anything is applied, and what docs/install.md and docs/alerts.md say is so.
//
//	chart_test.go        the manager
//	bootservers_test.go  boot servers, and the boot stream between both
//	follow_test.go       the built programs with the files of the chart: boot servers follow managers
//	network_test.go      NetworkPolicies
//	monitoring_test.go   how Prometheus and Grafana find what they need
//	alerts_test.go       the alerts and the dashboard themselves
//	rights_test.go       who may what
//	once_test.go         clusters in which the chart is refused
//	bases_test.go        the kustomize bases
//	values_test.go       values, their schema, and their errors
package charttest
