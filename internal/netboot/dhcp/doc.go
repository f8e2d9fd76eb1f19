// Package dhcp decides what DHCP tells a machine that boots from the network. It is pure: packets, sockets and leases are in the packages below it.
//
//	packet ──▶ Client: what firmware says of itself ─┐
//	Boots  ──▶ Boot: what the boot server would say ─┼─▶ Decide ──▶ Answer ──▶ packet
//	           Policy: what the operator allows     ─┘
//
// The boot server itself answers Boots, in process. So DHCP, TFTP and HTTP give a machine the same, and no answer waits for Kubernetes.
//
// # The steps of a boot
//
// A machine asks up to three times, and Class and IPXE of Client tell the steps apart:
//
//   - Firmware that boots over HTTP (UEFI 2.10 §24.7) gets the URL of its file.
//   - Firmware that boots over TFTP (PXE 2.1) gets a boot program, which is iPXE.
//   - iPXE gets the URL of its chainload script. Without this step it would load itself for ever.
//
// Other hosts get no boot answer: a lease in server mode, and silence in proxy mode.
package dhcp
