// Package cluster tests what an installation is made of on a full kube-apiserver: the chart, applied by Helm itself; managers as processes, with the
// flags of the chart's ConfigMap and the rights of its service account; webhooks, reached by their Service; upgrades with machines that run.
//
// There are no nodes, so nothing that the chart deploys runs by itself, and no controllers of Kubernetes. services_test.go leads the API server to what
// is behind Services.
package cluster
