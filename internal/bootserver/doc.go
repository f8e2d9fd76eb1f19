// Package bootserver answers machines over HTTP.
//
// A Server is fed by a bootview.View and holds nothing of its own: any number of
// replicas give the same answers. A request is a lookup in the view and a write;
// none waits for Kubernetes, and only the two that send artifacts may wait for a registry.
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
// A machine may be known by its Server or name itself (ipxeapi.go). Where both answer, a boot configuration comes before
// an assignment. /explain (ipxeapi_explain.go) is a handler of its own, for operators.
//
// What was given to whom is a Delivery (delivery.go); it is handed on without
// waiting and never delays an answer.
//
// # Who is trusted with what
//
// Scripts are public, whoever knows a UUID may have one. Ignition may hold secrets: access.go says
// who reads it, and is plain about how little an address proves. The
// X-Forwarded-For header counts on /httpboot alone, from forwarders alone, and never
// opens ignition.
//
// Over TLS (secure.go) nobody between a machine and this server reads or changes anything. Where that is asked for, what may
// hold a secret is refused over plain HTTP.
//
// # Failure
//
// The status tells a machine whether to come back: 503 with Retry-After when the
// view is not complete yet (iPXE waits and asks again), 404 when nothing is meant
// for it, 409 when two things are. There is never a redirect: UEFI firmware does not
// follow any.
package bootserver
