// Package ratelimit limits how often one address may do something, and how often the log says what strangers do. Its memory is bounded for any
// number of addresses.
package ratelimit
