// Package kmod chooses kernel modules for an image: out of a folder of modules those that match, with everything that they depend on.
//
// What a module is, what it needs and for which devices it is, it says itself in its section .modinfo. So the folder need not have
// been through depmod, and a package of a distribution that was only unpacked will do. [Tree.Choose] returns the modules, and
// [Chosen.Files] the files of an image: modules, and the indexes modules.dep and modules.alias in the format of depmod(8).
package kmod
