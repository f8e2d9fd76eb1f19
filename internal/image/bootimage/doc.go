// Package bootimage writes OCI images that machines boot from, and finds them again: a manifest whose layers are the files themselves, each with the media
// type by which package registry chooses what a machine boots.
//
// An image goes to a registry or into an OCI image layout, a folder: [Open] opens either for what people write. [Place.Add] puts an image
// there beside those for other architectures, [Place.Push] in their place, and [Place.Find] tells what one offers. The same files give the same digests.
package bootimage
