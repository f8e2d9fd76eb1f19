// Package rotation makes the certificate of the webhooks where neither cert-manager nor a person does.
//
// All managers of an installation share an authority and a serving certificate, in the Secret SecretName of their namespace (material.go). What has
// to change there is a function of its content and the time (decide.go). Any of them writes the change, under the resource version that it has read,
// so that several agree (keeper.go). The authorities are written into the webhook configurations of this installation (announce.go).
//
// A new authority signs only after API servers trust it: it is announced beside the present one, and takes over an hour later. The former one stays
// announced until it ends. So API servers verify whichever certificate a manager shows.
//
// Failures are logged, and tried again. A manager goes on with the certificate that it has, and with everything else that it does.
package rotation
