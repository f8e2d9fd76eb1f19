package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// failure is an error answer: a message of the Base registry (DSP8011), in the
// form that DSP0266 gives error responses.
type failure struct {
	status   int
	registry string // with its version and a dot; empty: that of Base
	id       string
	text     string
	args     []string
	related  string // JSON pointer of the property
}

func (f *failure) Error() string { return f.id + ": " + f.message() }

// message fills the arguments in: %1, %2, …
func (f *failure) message() string {
	text := f.text
	for i, arg := range f.args {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), arg)
	}
	return text
}

const baseRegistry = "Base.1.18."

func (f *failure) messageID() string {
	if f.registry != "" {
		return f.registry + f.id
	}
	return baseRegistry + f.id
}

// info is one Message (DSP0268).
func (f *failure) info() object {
	severity := "Critical"
	if f.status < 400 {
		severity = "OK"
	}
	args := f.args
	if args == nil {
		args = []string{}
	}
	m := object{
		"@odata.type": "#Message.v1_2_1.Message", "MessageId": f.messageID(), "Message": f.message(),
		"MessageArgs": args, "MessageSeverity": severity, "Severity": severity, "Resolution": "None.",
	}
	if f.related != "" {
		m["RelatedProperties"] = []string{f.related}
	}
	return m
}

func (f *failure) body() object {
	return object{"error": object{
		"code": f.messageID(), "message": f.message(), "@Message.ExtendedInfo": []object{f.info()},
	}}
}

// asFailure makes an answer of any error.
func asFailure(err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	return &failure{status: http.StatusInternalServerError, id: "InternalError", text: "The request failed due to an internal service error: %1.", args: []string{err.Error()}}
}

var (
	errUnauthorized = &failure{
		status: http.StatusUnauthorized, id: "NoValidSession",
		text: "There is no valid session established with the implementation.",
	}
	errPrivilege = &failure{
		status: http.StatusForbidden, id: "InsufficientPrivilege",
		text: "There are insufficient privileges for the account or credentials associated with the current session to perform the requested operation.",
	}
	errPrecondition = &failure{
		status: http.StatusPreconditionFailed, id: "PreconditionFailed",
		text: "The ETag supplied did not match the ETag required to change this resource.",
	}
	errNoETag = &failure{
		status: http.StatusPreconditionRequired, id: "PreconditionRequired",
		text: "A precondition header or annotation is required to change this resource.",
	}
	errMalformedJSON = &failure{
		status: http.StatusBadRequest, id: "MalformedJSON",
		text: "The request body submitted was malformed JSON and could not be parsed by the receiving service.",
	}
	errEmptyJSON = &failure{
		status: http.StatusBadRequest, id: "EmptyJSON",
		text: "The request body submitted contained an empty JSON object and the service is unable to process it.",
	}
	errTooLarge = &failure{
		status: http.StatusRequestEntityTooLarge, id: "PayloadTooLarge",
		text: "The supplied payload is too large for the service to process.",
	}
	errMediaType = &failure{
		status: http.StatusUnsupportedMediaType, id: "HeaderInvalid",
		text: "Header 'Content-Type' is invalid.",
	}
	errNoLength = &failure{
		status: http.StatusLengthRequired, id: "HeaderMissing",
		text: "Header 'Content-Length' is missing in the request.",
	}
	errSessionLimit = &failure{
		status: http.StatusServiceUnavailable, id: "SessionLimitExceeded",
		text: "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.",
	}
	errUnavailable = &failure{
		status: http.StatusServiceUnavailable, id: "ServiceTemporarilyUnavailable",
		text: "The service is temporarily unavailable.",
	}
	errTooMany = &failure{
		status: http.StatusTooManyRequests, id: "ServiceTemporarilyUnavailable",
		text: "The service is temporarily unavailable: too many requests.",
	}
	errTooManyExpanded = &failure{
		status: http.StatusInsufficientStorage, id: "InsufficientStorage",
		text: "Insufficient storage or memory is available to complete the request.",
	}
	errInternal = &failure{
		status: http.StatusInternalServerError, id: "InternalError",
		text: "The request failed due to an internal service error. The service is still operational.",
	}
	errLocked = &failure{
		status: http.StatusUnauthorized, id: "AccountLocked",
		text: "The account is locked after too many authentication failures.",
	}
	errExpired = &failure{
		status: http.StatusForbidden, id: "PasswordChangeRequired",
		text: "The password provided for this account must be changed before access is granted.",
	}
	errNoOperation = &failure{
		status: http.StatusOK, id: "NoOperation",
		text: "The request body submitted contains no data to act upon and no changes to the resource took place.",
	}
)

func errNotFound(uri string) *failure {
	return &failure{status: http.StatusNotFound, id: "ResourceMissingAtURI", text: "The resource at the URI '%1' was not found.", args: []string{uri}}
}

func errMethod(method string) *failure {
	return &failure{status: http.StatusMethodNotAllowed, id: "OperationNotAllowed", text: "The HTTP method is not allowed on this resource: %1.", args: []string{method}}
}

func errQuery(name string) *failure {
	return &failure{status: http.StatusNotImplemented, id: "QueryNotSupported", text: "Querying is not supported by the implementation: %1.", args: []string{name}}
}

func errQueryValue(value string) *failure {
	return &failure{status: http.StatusBadRequest, id: "QueryParameterValueFormatError", text: "The value '%1' for the parameter %2 is of a different format than the parameter can accept.", args: []string{value, "$expand"}}
}

func errQueryRange(levels string, most int) *failure {
	return &failure{status: http.StatusBadRequest, id: "QueryParameterOutOfRange", text: "The value '%1' for the query parameter %2 is out of range %3.", args: []string{levels, "$levels", fmt.Sprintf("1-%d", most)}}
}

func errUnknownProperty(name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyUnknown", text: "The property '%1' is not in the list of valid properties for the resource.", args: []string{name}, related: "/" + name}
}

func errReadOnly(name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyNotWritable", text: "The property '%1' is a read-only property and cannot be assigned a value.", args: []string{name}, related: "/" + name}
}

func errValueType(name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyValueTypeError", text: "The value for the property '%1' is not a type that the property can accept.", args: []string{name}, related: "/" + name}
}

func errValue(name, value string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyValueNotInList", text: "The value '%2' for the property '%1' is not in the list of acceptable values.", args: []string{name, value}, related: "/" + name}
}

func errMissing(name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "PropertyMissing", text: "The property '%1' is a required property and must be included in the request.", args: []string{name}, related: "/" + name}
}

func errParameter(action, name, value string) *failure {
	return &failure{status: http.StatusBadRequest, id: "ActionParameterValueNotInList", text: "The value '%3' for the parameter %2 in the action %1 is not in the list of acceptable values.", args: []string{action, name, value}}
}

func errMissingParameter(action, name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "ActionParameterMissing", text: "The action %1 requires the parameter %2 to be present in the request body.", args: []string{action, name}}
}

func errPart(name string) *failure {
	return &failure{status: http.StatusBadRequest, id: "MissingOrMalformedPart", text: "The multipart request contains malformed parts or is missing required parts: %1.", args: []string{name}}
}

func errConflict(reason string) *failure {
	return &failure{status: http.StatusConflict, id: "OperationFailed", text: "An error occurred internal to the service as part of the overall request: %1.", args: []string{reason}}
}
