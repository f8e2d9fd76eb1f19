// Package nvram writes variables into the store of EDK II's firmware, as a BMC sets them: a boot option for a URL, and the authorities that the firmware trusts.
//
// A store is the file of a flash chip: a firmware volume (PI 1.8 §3.2.1) that begins with the header of a variable store, and records one after the other.
// [Variables.WriteTo] adds records behind the last one, and marks those deleted that they replace.
package nvram
