// Package objectname knows which names a Kubernetes object can have, and answers reads of impossible names with NotFound.
//
// References are text that people write. A client does not even request an object named "../x": it fails, and a caller that takes
// that for a failure of the API retries forever. An object with an impossible name does not exist, and [Reader], [Client] and
// [Manager] report exactly that. To tell a wrong name from a missing object, call [Problem].
package objectname
