// Package probeboot is how one boot of the probe is asked of a Server that is inspected already, and what came of it.
//
// Who wants to know whether a machine still boots, and reports, writes an ID into the annotation farrier.dev/probe-boot of its Server. The
// controller of Servers takes the request once the Server is Available: it writes that the boot has begun, and the Server is discovered as if it
// were new. When the report of that discovery is on record, it writes that too. Both are facts of their own, beside status.
package probeboot
