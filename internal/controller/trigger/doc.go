// Package trigger brings news from outside Kubernetes to a controller's queue: an
// observation of a BMC, an image that has been resolved, a report of a
// probe. It carries no data, only names; the reconciler reads what is new where
// it is kept.
package trigger
