// Package kubeconfig gives administrators their way into the embedded API, and renews it while the API runs.
//
// A kubeconfig names one file beside it, with the certificate and the key of the administrator. That file is replaced long before the
// certificate ends: whoever reads the kubeconfig again, and client-go, which looks at such files every few minutes, goes on with the
// new one. What was copied ends within a day.
//
// The certificate names a group and no rights: those are RBAC's to give and to take away (controlplane/rbac.go). For the day on which that went
// wrong, EmergencyGroup may do everything, and whoever owns the data directory can make a certificate of it.
package kubeconfig
