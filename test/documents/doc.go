// Package documents checks the Markdown pages of the project: relative links and their anchors lead somewhere, paths of the
// repository and tests that a page names in backticks exist, and so do flags and metrics.
package documents
