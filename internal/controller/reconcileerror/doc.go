// Package reconcileerror gives an error a meaning for a controller: may a retry help (transient, the default), will a
// watch trigger the object (Waiting), is it too early (Paused), or must somebody change something first (Terminal)?
//
// One function, Handle, translates that meaning for controller-runtime, so
// that no controller has its own rules for retries.
package reconcileerror
