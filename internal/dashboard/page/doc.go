// Package page is what the pages of the dashboard show. It reads and draws; it serves nothing and changes nothing.
//
// Each page is a function that reads a Source, with the rights of whoever looks, and returns a View. Write draws the View as a whole page, and
// WriteMain draws what stands in its <main> alone, for a page that is brought up to date in the browser. Every text comes through html/template
// and the functions of words.go, so that no name of a machine becomes markup or does anything to the reader.
//
//	source.go    what pages read; view.go draws; words.go says times, sizes and states
//	*.go         one file a page, with its template of the same name in templates/
//	assets/      the style and the few lines of JavaScript of our own
//
// No page has an inline script, an inline style or a link to elsewhere: the Content-Security-Policy of the dashboard allows none.
package page
