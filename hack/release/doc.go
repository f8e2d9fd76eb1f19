// Command release makes what users get of a version: archives of the programs, container images, Debian packages, and bills of materials. `make release`,
// `make images` and `make deb` call it.
//
// The order is: source says of what a release is made, changelog what it says of itself, program builds, and archive, image, debian, sbom and licenses
// make files of what was built (work.go), chart one of the Helm chart; programtest has a program for their tests. The same commit, built with the same Go, gives the same bytes.
package main
