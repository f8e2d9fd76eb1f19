// Package inspection holds what the probe reports from inside a machine: the
// schema of the report and the two messages that the agent posts.
//
// The path of a report is short. An agent posts [Encode]d bytes to /register; a
// boot server [Decode]s them under a limit, fills in the attempt from the token
// in the URL and passes the [Registration] on; the manager [Pack]s it into the
// machine record, and its readers [Unpack] it.
//
// Machines prove little about themselves, so every decoder is bounded and never panics. A message that cannot be read is an
// [ErrMalformed] that names the field. A registration keeps the report as it was
// sent beside the decoded one: agents of other versions send fields that this
// schema does not know, and an operator who reads the record sees them all.
package inspection
