// Package bmc talks to one baseboard management controller over Redfish
// (DMTF DSP0266).
//
// A [Client] is narrow and typed: it has the reads and writes that Farrier needs,
// and no others. It knows neither Kubernetes nor the fleet that owns it.
//
// A BMC is a small, slow computer. So a Client keeps to these rules:
//
//   - one connection and one request at a time (connection.go, Client.do);
//   - one session, which the first request creates (session.go). The Client uses Basic
//     authentication only if it cannot have a session (basic.go): the BMC offers none, creates
//     one without a token, or refuses one to an account that it admits otherwise, which the
//     Client tries at most once an hour. After a 401 on a session it logs in once more; a
//     second 401 is final;
//   - every request has a deadline that includes connecting, TLS and the body,
//     and every body has a limit; one that sends an image has a deadline for each piece of it (push.go);
//   - a change carries If-Match if the BMC gave an ETag (DSP0266 §6.5), and is
//     repeated once with a fresh ETag after a 412;
//   - decoding is tolerant (decode.go): a number spelled as a string is read, and a
//     broken member of a list costs that member only;
//   - vendor quirks are rows of a table (quirks.go); quirks_test.go shows how a client without
//     each of them fails.
//
// Files by subject: system, boot, reset, indicator, manager; inventory with
// storage and port; account and password; bios and attribute; update, push (with form) and task; event; log.
//
// Meeting a BMC takes many requests, so lists are read with their members where the BMC does that and can be trusted with it (expand.go), and
// nothing is read twice. A caller can interrupt a series of requests between two of them ([Interruptible]).
//
// Every error is an [*Error] whose Kind tells the caller what it means. Errors,
// logs and formatted values never hold a password or a session token.
package bmc
