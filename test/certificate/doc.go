// Package certificate makes certificates and their keys for tests.
package certificate
