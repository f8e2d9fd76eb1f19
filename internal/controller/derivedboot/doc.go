// Package derivedboot holds the boot configs of internal boots, those of the probe, in memory.
//
// A claim's boot configs are objects, because others read and write them. The probe's are nobody's but Farrier's, last for minutes, and say nothing
// that does not follow from the boot configuration, the Server and the image. So every replica derives them and none stores them (ADR 022): package
// bootconfig plans them here, package bootdelivery renders what was planned and reports back, and package bootconfig tells of it in the status of the
// boot configuration. That a boot is ready is said there with the first thing that the machine fetches; until then it is here (status.go).
//
// One thing does not follow from objects: which image a tag named when the boot was ordered. The order writes that down, in an annotation of the boot
// configuration (image.go). So a machine gets the same from every replica, and from one that has just started while the registry is away.
package derivedboot
