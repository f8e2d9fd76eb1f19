// Package programtest has a program for tests: what Go records in a program about the modules that it links it does not record in tests.
package programtest
