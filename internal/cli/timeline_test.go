package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// What goes wrong at the operator address is said with the flag that it has to do with, as it comes out of net/http.
func TestOperatorErrorsNameTheirFlag(t *testing.T) {
	wrapped := func(err error) error { return &url.Error{Op: "Get", URL: "https://o/boots/u", Err: err} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{operator.ErrUnauthorized, "--kubeconfig: https://o does not know its user"},
		{operator.ErrForbidden, "--kubeconfig: its user may not read /boots/u"},
		{wrapped(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "--operator-ca: the certificate of https://o is not trusted"},
		{wrapped(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "o"}}), "--operator-ca: the certificate of https://o is not trusted"},
		{wrapped(&net.OpError{Op: "remote error", Err: errors.New("tls: expired certificate")}), "--kubeconfig: https://o does not take its client certificate: tls: expired certificate"},
		{wrapped(&net.OpError{Op: "dial", Err: errors.New("refused")}), "--operator-url: https://o: "},
		{fmt.Errorf("GET /boots/u: %s", "503 Service Unavailable"), "--operator-url: https://o: GET /boots/u: 503"},
	} {
		err := explainOperator("https://o", "/boots/u", c.err)
		if (err == nil) != (c.err == nil) || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.err, err, c.want)
		}
	}
}

func TestTimelineUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "one Server"},
		{[]string{"a", "b"}, "not 2"},
		{[]string{"a", "-o", "yaml"}, "--output"},
		{[]string{"a", "-o", "json", "--follow"}, "--follow"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(append([]string{"timeline"}, c.args...), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, stderr.String())
		}
	}
}
