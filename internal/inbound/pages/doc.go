// Package pages has what programs serve to operators beside their work: metrics, health and profiles, each at an address of its own.
package pages
