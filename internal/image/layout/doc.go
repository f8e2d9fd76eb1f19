// Package layout reads OCI image layouts (image-spec v1.1, "OCI Image Layout Specification") that are in one folder: the layout of an image NAME is in
// the folder NAME below it, and its tags are those of its index.json.
//
// Nothing outside the folder is read, whatever names and symbolic links say, every read has a limit, and manifests are verified. A [Folder] is
// looked into at each call, so layouts come, change and go while others read. Errors name the file, relative to the folder: they are told to people
// who need not know where on this host it is.
package layout
