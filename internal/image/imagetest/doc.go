// Package imagetest has what the tests of registry and blobcache share: images, and registries that behave in odd ways.
package imagetest
