// Package consoletarget finds out how the serial console of a Server is reached, from the objects and from what its BMC last said, and opens it with the
// credentials that Farrier has for the BMC (package console). It is careful with passwords: accounts lock.
package consoletarget
