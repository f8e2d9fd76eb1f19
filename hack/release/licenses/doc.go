// Package licenses collects the licenses of everything that is linked into programs: whoever passes on a program has to pass them on with it.
package licenses
