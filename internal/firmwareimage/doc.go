// Package firmwareimage fetches images of firmware for BMCs: each once, however many BMCs install it, verified by its digest
// where one is named, and kept on disk while somebody needs it.
//
//	controller ──Need──▶ Store ──fetch.go──▶ server of the image
//	                       │ files.go: one file for each image, verified before it has its name
//	                       ├──▶ Image.Open: Farrier pushes it to a BMC
//	                       └──▶ serve.go: a BMC fetches it, under a path that only Farrier can make
//
// A BMC that is given an image by Farrier needs no way to where images are published, and gets the bytes that were verified, not those that are
// published a minute later.
package firmwareimage
