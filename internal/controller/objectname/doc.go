// Package objectname says which names an object of Kubernetes can have, and keeps those that none can have from being asked for.
//
// References are text that people write. A client does not even ask for an object named "../x": it fails, and whoever takes that
// for a failure of the API tries again for ever. An object whose name is impossible does not exist, and that is what [Reader],
// [Client] and [Manager] say of it. Whoever wants to tell its author apart from one who is early asks [Problem].
package objectname
