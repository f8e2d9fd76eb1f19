// Package bootfile has the files that firmware itself fetches from a boot server. Boot methods (package bootmethod) refer to them, and boot
// servers, which know no Kubernetes object, have a route for each.
package bootfile
