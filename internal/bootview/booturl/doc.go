// Package booturl knows under which URLs machines reach the boot server: by site, and by address family.
//
// A Server says by the label farrier.dev/site where it stands. A site has a URL of IPv4 or of a name, one of an IPv6
// literal, or both; the default site has no name, and is that of every machine whose site is not configured. Two
// questions are answered: which URL an object names, that anybody may read (Bases.Object), and which one an answer
// names, whose caller is known (Bases.For).
package booturl
