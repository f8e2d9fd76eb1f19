package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controllerwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/farrier-dev/farrier/internal/admission"
)

// The paths that config/webhook names.
const (
	ValidatePath = "/admission/validate"
	MutatePath   = "/admission/mutate"
)

// maxReview bounds the body of a request. An API server takes objects of at most 3 MiB (k8s.io/apiserver, MaxRequestBodyBytes), and a review holds
// an object before and after.
const maxReview = 7 << 20

// readTimeout bounds how long a body may take: an API server gives up after half of it, by config/webhook.
const readTimeout = 10 * time.Second

// judge makes the response to a request. An error means that there is none.
type judge func(ctx context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)

// handler answers reviews.
type handler struct {
	judge  judge
	logger logr.Logger
}

// Handlers answer at ValidatePath and MutatePath.
func Handlers(rules *admission.Rules, logger logr.Logger) map[string]http.Handler {
	return map[string]http.Handler{
		ValidatePath: &handler{judge: validate(rules), logger: logger},
		MutatePath:   &handler{judge: mutate, logger: logger},
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review, status, err := read(w, r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	response, err := h.judge(r.Context(), review.Request)
	if err != nil {
		h.logger.Error(err, "admission request not reviewed", "kind", review.Request.Kind.Kind, "name", review.Request.Name)
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	response.UID = review.Request.UID
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&answer); err != nil {
		h.logger.V(1).Info("API server did not accept the admission response", "error", err)
	}
}

// read decodes a review, and says with which status it is refused if it is none.
func read(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionReview, int, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, errors.New("a review is posted")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, errors.New("a review is application/json")
	}
	// Not every writer can; the server's own limits hold then.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("a review has at most %d bytes", maxReview)
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("read the review: %w", err)
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("decode the review: %w", err)
	}
	if want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"); review.GroupVersionKind() != want {
		return nil, http.StatusBadRequest, fmt.Errorf("apiVersion, kind: %s is not %s", review.GroupVersionKind(), want)
	}
	if review.Request == nil || review.Request.UID == "" {
		return nil, http.StatusBadRequest, errors.New("request.uid: required")
	}
	return review, 0, nil
}

func validate(rules *admission.Rules) judge {
	return func(ctx context.Context, asked *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		if !judged(asked) {
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		}
		request, err := decode(asked)
		if err != nil {
			return nil, err
		}
		verdict, err := rules.Validate(ctx, request)
		if err != nil {
			return nil, err
		}
		response := &admissionv1.AdmissionResponse{Allowed: verdict.Allowed(), Warnings: verdict.Warnings}
		if !response.Allowed {
			status := apierrors.NewInvalid(request.Kind, request.Name, verdict.Errors).Status()
			response.Result = &status
		}
		return response, nil
	}
}

func mutate(_ context.Context, asked *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if skipped(asked, admission.Mutates) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	request, err := decode(asked)
	if err != nil {
		return nil, err
	}
	result := admission.Mutate(request, time.Now())
	response := &admissionv1.AdmissionResponse{Allowed: true, Warnings: result.Warnings}
	if result.Object == nil {
		return response, nil
	}
	changed, err := result.Object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the repaired object: %w", err)
	}
	difference := controllerwebhook.PatchResponseFromRaw(asked.Object.Raw, changed)
	if len(difference.Patches) == 0 {
		return response, nil
	}
	if response.Patch, err = json.Marshal(difference.Patches); err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	patchType := admissionv1.PatchTypeJSONPatch
	response.PatchType = &patchType
	return response, nil
}

// judged reports whether there are rules for a request.
func judged(asked *admissionv1.AdmissionRequest) bool {
	if asked.Operation == admissionv1.Delete {
		return asked.SubResource == "" && admission.Warns(groupKind(asked.Kind))
	}
	return !skipped(asked, admission.Validates)
}

// skipped reports whether there is nothing to do for a request to store something. The configurations ask for no such one; somebody else's may.
func skipped(asked *admissionv1.AdmissionRequest, ours func(schema.GroupKind) bool) bool {
	stored := asked.Operation == admissionv1.Create || asked.Operation == admissionv1.Update
	return !stored || asked.SubResource != "" || !ours(groupKind(asked.Kind))
}

func groupKind(kind metav1.GroupVersionKind) schema.GroupKind {
	return schema.GroupKind{Group: kind.Group, Kind: kind.Kind}
}

func decode(asked *admissionv1.AdmissionRequest) (admission.Request, error) {
	request := admission.Request{Kind: groupKind(asked.Kind), Namespace: asked.Namespace, Name: asked.Name, DryRun: asked.DryRun != nil && *asked.DryRun}
	if asked.Operation != admissionv1.Create {
		request.Old = &unstructured.Unstructured{}
		if err := request.Old.UnmarshalJSON(asked.OldObject.Raw); err != nil {
			return request, fmt.Errorf("request.oldObject: %w", err)
		}
	}
	if asked.Operation == admissionv1.Delete {
		request.Name = request.Old.GetName() // that of the request is empty where a collection is deleted
		return request, nil
	}
	request.Object = &unstructured.Unstructured{}
	if err := request.Object.UnmarshalJSON(asked.Object.Raw); err != nil {
		return request, fmt.Errorf("request.object: %w", err)
	}
	if request.Name == "" {
		request.Name = request.Object.GetName()
	}
	return request, nil
}
