// Package bootserver answers machines over HTTP.
//
// A Server reads a bootview.View and has no state of its own: any number of
// replicas give the same answers. A request is a lookup in the view and a write.
// No request waits for Kubernetes, and only the two that send artifacts may wait for a registry.
//
//	request ─▶ route.go ─▶ ipxe.go      /ipxe, /ipxe/{uuid}          what to boot
//	                       ipxeapi.go   /boot.ipxe, /ipxe?labels, /config/{id}   machines that name themselves
//	                       ignition.go  /ignition/{uuid}             how to set itself up
//	                       httpboot.go  /httpboot                    what UEFI firmware boots
//	                       artifact.go  /image, /httpboot/….efi      the bytes of it
//	                       programs.go  /boot/{arch}/{file}          what firmware loads before iPXE
//	                       metadata.go  /v1/…                        what a running machine learns of itself
//	                       probe.go     /register, /bootstate, /probe/…
//	                       health.go    /healthz, /readyz
//
// A machine may have a Server or name itself (ipxeapi.go). If both give an answer, a boot configuration takes precedence over
// an assignment. /explain (ipxeapi_explain.go) is a handler of its own, for operators.
//
// A Delivery (delivery.go) records which file a machine fetched. The Server passes it on without
// waiting, so it never delays an answer.
//
// # Whom the server trusts
//
// Scripts are public: any caller that knows a UUID gets one. Ignition may contain secrets: access.go decides
// who reads it, and says how little an address proves. The server believes the
// X-Forwarded-For header on /httpboot only, from forwarders only, and never for ignition.
//
// Over TLS (secure.go) nobody between a machine and this server can read or change an answer. With --boot-secrets-need-tls the
// server refuses over plain HTTP every answer that may contain a secret.
//
// # Failure
//
// The status tells a machine whether to ask again: 503 with Retry-After while the
// view is not complete (iPXE waits and asks again), 404 if there is no answer for the
// machine, 409 if there are two. The server never redirects, because UEFI firmware
// follows no redirect.
package bootserver
