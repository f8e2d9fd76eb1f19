// Package bootattempt is the durable record of one boot of a machine.
//
// It lives in an annotation of the boot configuration that is booted, because
// it must survive everything that status does not. The Server's state machine
// writes it; boot delivery reads it to know which token is good and when.
package bootattempt
