// Package ratelimit limits how often one address may do something. Its memory is bounded for any number of addresses.
package ratelimit
