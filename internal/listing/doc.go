// Package listing lists all objects of a kind in pages.
//
// The pages of one list are read from the store as it was at the first one. An API that does not keep that long enough, because there are
// very many objects or each takes its time, answers "Expired" (410) in place of the next page. Then they are all listed again, at once.
package listing
