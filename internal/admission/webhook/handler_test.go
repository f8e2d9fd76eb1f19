package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/farrier-dev/farrier/internal/admission"
)

const claimReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
	"kind":{"group":"metal.ironcore.dev","version":"v1alpha1","kind":"ServerClaim"},"namespace":"default","name":"c",
	"object":{"apiVersion":"metal.ironcore.dev/v1alpha1","kind":"ServerClaim","metadata":{"name":"c"},"spec":{"power":"On","image":"not an image"}}}}`

// deletionReview lacks the object.
const deletionReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE",
	"kind":{"group":"ipxe.cloud.alexandre.mahdhaoui.com","version":"v1alpha1","kind":"Profile"},"namespace":"default","name":"p"}}`

func handlers() map[string]http.Handler {
	store := fake.NewClientBuilder().Build()
	return Handlers(&admission.Rules{ManagerNamespace: "farrier-system", Cached: store, Live: store}, logr.Discard())
}

func post(path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, body)
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	handlers()[path].ServeHTTP(recorder, request)
	return recorder
}

// TestWhatIsNoReview: each is refused with a status of its own, and says what is wrong.
func TestWhatIsNoReview(t *testing.T) {
	const media = "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		media, body, want string
		status            int
	}{
		"another media type":  {"text/plain", claimReview, "application/json", http.StatusUnsupportedMediaType},
		"no JSON":             {media, "{", "decode the review", http.StatusBadRequest},
		"another version":     {media, strings.Replace(claimReview, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), "v1beta1", http.StatusBadRequest},
		"another kind":        {media, strings.Replace(claimReview, `"AdmissionReview"`, `"Status"`, 1), "Status", http.StatusBadRequest},
		"no request":          {media, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, "request.uid", http.StatusBadRequest},
		"a request of nobody": {media, strings.Replace(claimReview, `"uid":"u"`, `"uid":""`, 1), "request.uid", http.StatusBadRequest},
		"too large":           {media, strings.Repeat(" ", maxReview+1), "at most", http.StatusRequestEntityTooLarge},
		"no object":           {media, claimReview[:strings.Index(claimReview, `,`+"\n\t"+`"object"`)] + "}}", "request.object", http.StatusServiceUnavailable},
		"nothing deleted":     {media, deletionReview, "request.oldObject", http.StatusServiceUnavailable},
		"no former object":    {media, strings.Replace(claimReview, "CREATE", "UPDATE", 1), "request.oldObject", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(ValidatePath, c.media, strings.NewReader(c.body))
			if got.Code != c.status || !strings.Contains(got.Body.String(), c.want) {
				t.Errorf("%d %s, want %d with %q", got.Code, got.Body, c.status, c.want)
			}
		})
	}
	recorder := httptest.NewRecorder()
	handlers()[MutatePath].ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, MutatePath, nil))
	if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != http.MethodPost {
		t.Errorf("GET: %d, Allow %q", recorder.Code, recorder.Header().Get("Allow"))
	}
}

// TestWhatNobodyAskedFor passes: a configuration of somebody else's may send more than config/webhook does.
func TestWhatNobodyAskedFor(t *testing.T) {
	for name, body := range map[string]string{
		"a deletion":   strings.Replace(claimReview, "CREATE", "DELETE", 1),
		"a status":     strings.Replace(claimReview, `"namespace"`, `"subResource":"status","namespace"`, 1),
		"another kind": strings.Replace(claimReview, `"kind":"ServerClaim"},`, `"kind":"Pod"},`, 1),
	} {
		for path := range handlers() {
			got := post(path, "application/json", strings.NewReader(body))
			if review := answer(t, got); !review.Response.Allowed || review.Response.UID != "u" || len(review.Response.Patch) > 0 {
				t.Errorf("%s at %s: %+v", name, path, review.Response)
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	review := answer(t, post(ValidatePath, "application/json", strings.NewReader(claimReview)))
	if review.Response.Allowed || review.Response.Result.Code != http.StatusUnprocessableEntity || len(review.Response.Result.Details.Causes) != 1 {
		t.Errorf("response %+v", review.Response)
	}
}

func answer(t *testing.T, recorder *httptest.ResponseRecorder) *admissionv1.AdmissionReview {
	t.Helper()
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(recorder.Body.Bytes(), review); err != nil || review.Response == nil {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	return review
}

// FuzzReview: whatever is posted, there is an answer, and a patch is one for the object that was sent.
func FuzzReview(f *testing.F) {
	f.Add(claimReview)
	f.Add(strings.Replace(deletionReview, `"name":"p"`, `"name":"p","oldObject":{"kind":"Profile","apiVersion":"ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1","metadata":{"name":"p"}}`, 1))
	f.Add(strings.NewReplacer("ServerClaim", "Profile", "metal.ironcore.dev", "ipxe.cloud.alexandre.mahdhaoui.com",
		`{"name":"c"}`, `{"name":"c","labels":{"assignment/ipxe/a":"b"},"managedFields":[{"fieldsV1":{"f:metadata":{"f:labels":{"f:assignment/ipxe/a":{}}}}}]}`).Replace(claimReview))
	f.Add(strings.Replace(claimReview, `"spec"`, `"spec":[],"x"`, 1))
	f.Fuzz(func(t *testing.T, body string) {
		for path := range handlers() {
			if got := post(path, "application/json", strings.NewReader(body)); got.Code == http.StatusOK {
				answer(t, got)
			}
		}
	})
}
