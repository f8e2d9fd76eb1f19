// Package webhook answers the API server of a cluster with the rules of package admission (admission.k8s.io/v1, AdmissionReview).
//
// Beside has a manager serve both handlers, with a certificate from files that are read again when they change. The
// configurations that make an API server ask are config/webhook; a test holds them to the rules.
//
// A request that cannot be judged is answered with 503 and not with a verdict: what happens then is for the configuration's failurePolicy to say.
package webhook
