// Package usage runs a command line and tells whoever typed it what is wrong with it: which flag, which argument, what was probably
// meant, and where the help is. The commands of this project share it, so that they speak alike.
package usage
