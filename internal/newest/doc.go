// Package newest keeps what was learned last, in memory that is bounded.
package newest
