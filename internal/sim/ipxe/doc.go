// Package ipxe runs iPXE scripts the way iPXE does, without being firmware.
//
// [Run] fetches a script, executes it and says how it ended: an image was booted,
// or control went back to the firmware. It touches nothing itself: files come
// from a [Fetcher], time from a clock, and what is known of the machine from
// [Settings]. The same script against the same answers therefore always takes
// the same way, and the trace of it can be compared.
//
// What makes scripts behave unexpectedly on real machines is kept:
//
//   - a whole line is expanded before its first command runs, so
//     "set a 1 && echo ${a}" echoes what a was before;
//   - "||" and "&&" decide whether the next command is run by how the last one
//     ended that was. In "a || sleep 1 || goto retry" the goto is never reached,
//     because sleep succeeds; in "a && b || c" a failing a leads to c;
//   - a line that fails ends its script;
//   - "chain --replace" ends the script that says it, so a "||" after it sees
//     the download fail, but never the new script;
//   - there is no quoting;
//   - a setting that is given an empty value is no longer set.
//
// Menus, prompts, parameters of POST requests, image verification and block
// devices other than the local disk are not there: those commands fail as
// unknown ones do.
package ipxe
