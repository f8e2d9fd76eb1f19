// Package uki makes unified kernel images (UAPI Group, "Unified Kernel Image"): one EFI program of systemd's stub, a kernel, an initramfs and
// a command line.
//
// [Build] writes the PE file: the sections of the stub where they were, and those that the stub looks for behind them. [Sign] signs it for
// Secure Boot, [PCR11] predicts what the stub will have measured when the kernel starts, and [Read] tells what is in such a file.
//
//	pe.go            the PE format, as far as an image needs it
//	build.go         a stub and sections become an image
//	read.go          an image becomes sections
//	measure.go       PCR 11
//	authenticode.go  signatures
package uki
