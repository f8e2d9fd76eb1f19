package page

import (
	"maps"
	"net/url"
	"strconv"
)

// pager is where in a list a page stands.
type pager struct {
	// From and To count from 1; To is 0 in an empty list.
	From, To, Total int
	// Previous and Next are URLs; empty: there is none.
	Previous, Next string
}

// Several reports whether there is more than one page.
func (p pager) Several() bool { return p.Previous != "" || p.Next != "" }

// cut is the page of a list that a query asks for. A page beyond the end is the last one.
func cut[T any](all []T, size int, path string, query url.Values) ([]T, pager) {
	pages := max((len(all)+size-1)/size, 1)
	asked, err := strconv.Atoi(query.Get("page"))
	if err != nil || asked < 1 {
		asked = 1
	}
	at := min(asked, pages) - 1
	from, to := at*size, min((at+1)*size, len(all))
	p := pager{From: from + 1, To: to, Total: len(all)}
	if at > 0 {
		p.Previous = with(path, query, "page", strconv.Itoa(at))
	}
	if at+1 < pages {
		p.Next = with(path, query, "page", strconv.Itoa(at+2))
	}
	return all[from:to], p
}

// with is the URL of a page with one value of its query replaced; empty: taken away.
func with(path string, query url.Values, key, value string) string {
	changed := maps.Clone(query)
	if changed == nil {
		changed = url.Values{}
	}
	if value == "" {
		changed.Del(key)
	} else {
		changed.Set(key, value)
	}
	if text := changed.Encode(); text != "" {
		return path + "?" + text
	}
	return path
}
