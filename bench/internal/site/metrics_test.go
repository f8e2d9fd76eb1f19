package site

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestRequestsOfAnAPI(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="servers",subresource="",verb="PATCH"} 3
apiserver_request_total{code="409",resource="servers",subresource="",verb="PATCH"} 7
apiserver_request_total{code="201",resource="servers",subresource="",verb="POST"} 1
apiserver_request_total{code="200",resource="servers",subresource="status",verb="PATCH"} 4
apiserver_request_total{code="200",resource="servers",subresource="",verb="LIST"} 9
apiserver_request_duration_seconds_sum{resource="servers",subresource="status",verb="PATCH"} 0.5
apiserver_request_duration_seconds_sum{resource="servers",subresource="",verb="PATCH"} 0.25
other{resource="servers"} 1
`))
	}))
	defer server.Close()
	a := &API{http: server.Client(), Config: &rest.Config{Host: server.URL}}
	got, err := a.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Requests{"servers": {Creates: 1, Updates: 3, StatusUpdates: 4, Refused: 7, Seconds: 0.75, StatusSeconds: 0.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
