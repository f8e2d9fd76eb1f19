// Package plugin runs the rules of package admission inside an API server: no TLS, no certificate, nothing that can be away or be deleted.
//
// The rules read other objects through that same API server. So the plugin is made before it and given its rules when they can be read: until
// then repairs are made, as they read nothing, and a request that has to be judged is held up for a moment and then asked to come
// again. Nothing that makes the API ready is one of the kinds that are judged, and reading is never judged, so nobody waits for himself.
package plugin
