// Package bmc talks to one baseboard management controller over Redfish
// (DMTF DSP0266).
//
// A [Client] is narrow and typed: it reads what Farrier needs to know of a
// machine and does what Farrier needs done, nothing else. It is a leaf: it knows
// neither Kubernetes nor the fleet that owns it.
//
// How it behaves towards a BMC, which is a small, slow computer:
//
//   - one connection and one request at a time (connection.go, Client.do);
//   - one session, made with the first request and kept (session.go). Basic
//     authentication only where the BMC gives none (basic.go): it offers none, makes
//     them without a token, or refuses one to an account that it lets in otherwise, which
//     is tried once an hour at most. A 401 on a session is answered by one new login, and
//     that one's 401 is final;
//   - every request has a deadline that includes connecting, TLS and the body,
//     and every body has a limit;
//   - what is changed is changed with If-Match where an ETag was given
//     (DSP0266 §6.5), and once more with a fresh one after a 412;
//   - what the BMC says is read with tolerance (decode.go): a number spelled as a
//     string or one broken member of a list costs that value and no more;
//   - vendor quirks are rows of a table (quirks.go); quirks_test.go shows how a client without
//     each of them fails.
//
// What it can be asked for, by file: system, boot, reset, indicator, manager; inventory with
// storage and port; account and password; bios and attribute; update and task; event; log.
// What takes many requests can be given up between two of them ([Interruptible]).
//
// Every error is an [*Error] whose Kind tells the caller what it means. Errors,
// logs and formatted values never hold a password or a session token.
package bmc
