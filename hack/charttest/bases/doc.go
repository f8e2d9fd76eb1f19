// Package bases makes the kustomize bases of config/kustomize of what charts/farrier renders, so that there is one truth: make generate writes them, and a
// test compares them with the chart.
package bases
