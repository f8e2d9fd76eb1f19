package inspection

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
}

func TestReadMandate(t *testing.T) {
	for name, tc := range map[string]struct {
		resp *http.Response
		mode CleanMode
		bad  bool
	}{
		"nothing":           {resp: nil},
		"empty":             {resp: answer(201, "")},
		"text":              {resp: answer(201, "Created\n")},
		"a page":            {resp: answer(201, "<html>"+strings.Repeat("x", 1<<20))},
		"array":             {resp: answer(201, `["cleanup"]`)},
		"other object":      {resp: answer(201, `{"id":4}`)},
		"no cleanup":        {resp: answer(201, `{}`)},
		"null cleanup":      {resp: answer(201, `{"cleanup":null}`)},
		"metadata":          {resp: answer(201, ` {"cleanup":{"mode":"metadata"}} `), mode: CleanMetadata},
		"full":              {resp: answer(201, `{"cleanup":{"mode":"full","later":1},"other":2}`), mode: CleanFull},
		"mode of the later": {resp: answer(201, `{"cleanup":{"mode":"shred"}}`), mode: "shred"},
		"order in a 200":    {resp: answer(200, `{"cleanup":{"mode":"full"}}`)},
		"order in a 503":    {resp: answer(503, `{"cleanup":{"mode":"full"}}`)},
		"no mode":           {resp: answer(201, `{"cleanup":{}}`), bad: true},
		"no object":         {resp: answer(201, `{"cleanup":true}`), bad: true},
		"mode is a number":  {resp: answer(201, `{"cleanup":{"mode":1}}`), bad: true},
	} {
		m, err := ReadMandate(tc.resp)
		if m.Mode() != tc.mode || errors.Is(err, ErrMalformed) != tc.bad {
			t.Errorf("%s: mode %q, error %v", name, m.Mode(), err)
		}
		if want := tc.mode != ""; m.Permits() != want {
			t.Errorf("%s: permits %t, want %t", name, m.Permits(), want)
		}
	}
	if m, _ := ReadMandate(answer(201, `{"cleanup":{"mode":"none"}}`)); m.Permits() {
		t.Error("mode none permits something")
	}
}

func FuzzReadMandate(f *testing.F) {
	f.Add(`{"cleanup":{"mode":"full"}}`)
	f.Add(`{"cleanup":`)
	f.Fuzz(func(t *testing.T, body string) {
		m, err := ReadMandate(answer(201, body))
		if err != nil && m != (Mandate{}) {
			t.Errorf("%v, and still %v", err, m)
		}
	})
}
