// Package archive writes tar archives of which the same content always gives the same bytes: entries are sorted, belong to root unless they say
// otherwise, and have one time. Layers of images and archives of binaries are made of it.
package archive
