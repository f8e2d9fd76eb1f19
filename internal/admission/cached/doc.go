// Package cached gives the rules of package admission a cache of their own, for a process that has no manager whose they could share.
package cached
