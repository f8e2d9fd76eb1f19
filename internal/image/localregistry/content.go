package localregistry

import (
	"encoding/binary"
	"math/rand/v2"
)

// Sizes of the layers of a small image.
const (
	kernelSize    = 128 << 10
	initramfsSize = 256 << 10
	squashfsSize  = 384 << 10
	ukiSize       = 192 << 10
)

// SmallImage returns a boot image of 768 KiB whose contents follow from
// the seed alone: a kernel, an initramfs and a squashfs that look to tools like
// file(1) like what they stand for, and do nothing.
func SmallImage(seed uint64) Image {
	return Image{
		Kernel:    linuxImage(seed, kernelSize),
		Initramfs: initramfs(seed, initramfsSize),
		Squashfs:  squashfs(seed, squashfsSize),
	}
}

// SmallUKI returns an image with a single layer of 192 KiB, a UKI.
func SmallUKI(seed uint64) Image {
	return Image{UKI: efiProgram(seed, ukiSize)}
}

// noise returns bytes that do not compress, different for each kind of file.
func noise(seed uint64, kind string, size int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], kind)
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(content) // never fails
	return content
}

// linuxImage has the header of an x86 bzImage: Documentation/arch/x86/boot.rst
// of Linux, "The Real-Mode Kernel Header".
func linuxImage(seed uint64, size int) []byte {
	content := noise(seed, "kernel", size)
	copy(content, "MZ")
	binary.LittleEndian.PutUint16(content[0x1fe:], 0xaa55) // boot_flag
	copy(content[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(content[0x206:], 0x020f) // protocol version 2.15
	return content
}

// initramfs has the header of a "newc" cpio archive:
// Documentation/driver-api/early-userspace/buffer-format.rst of Linux.
func initramfs(seed uint64, size int) []byte {
	content := noise(seed, "initramfs", size)
	copy(content, "070701")
	return content
}

// squashfs has the magic number and version of a squashfs 4.0 superblock:
// Documentation/filesystems/squashfs.rst of Linux.
func squashfs(seed uint64, size int) []byte {
	content := noise(seed, "squashfs", size)
	copy(content, "hsqs")
	binary.LittleEndian.PutUint16(content[28:], 4)
	binary.LittleEndian.PutUint16(content[30:], 0)
	return content
}

// efiProgram has the headers by which firmware knows an x86-64 program:
// UEFI 2.10 §2.1.1, PE format.
func efiProgram(seed uint64, size int) []byte {
	const peOffset = 0x80
	content := noise(seed, "uki", size)
	copy(content, "MZ")
	binary.LittleEndian.PutUint32(content[0x3c:], peOffset)
	copy(content[peOffset:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(content[peOffset+4:], 0x8664)
	return content
}
