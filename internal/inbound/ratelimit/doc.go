// Package ratelimit says how much of something one address may do, in memory that is bounded however many addresses there are.
package ratelimit
