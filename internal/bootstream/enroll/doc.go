// Package enroll gives boot servers their certificates where no cert-manager does (service BootServerCertificates).
//
// A boot server joins once, by a token that `farrier cert token` has made for its name. From then on the public key that it has shown is
// bound to that name, in its Registration, and it renews by that key: the handshake of TLS 1.3 makes it sign what the server has said
// (CertificateVerify, RFC 8446 §4.4.3), which is the challenge. So it renews also after an outage of the manager that was longer than its
// certificate lived, with the certificate that has expired. An expired certificate is good for nothing else: the Server has a listener of
// its own, on which nothing but Join and Renew exists.
//
// A token that is made for a name anew takes the name away from the key that had it, once it is used. Removing the Registration takes it
// away at once.
//
// The Renewer is the boot server's side. It keeps key, certificate and authorities in a directory, by the names of cert-manager, from which
// a peer.Identity reads them.
package enroll
