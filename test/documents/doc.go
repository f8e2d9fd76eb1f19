// Package documents checks the Markdown pages of the project: relative links and their anchors lead somewhere, and paths of the
// repository that a page names in backticks exist.
package documents
