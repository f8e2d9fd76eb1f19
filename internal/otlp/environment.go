package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// The client of OpenTelemetry reads these variables itself, and only logs what is wrong with them. Here they are checked first; certificates and
// time-out are read here alone, because the client takes them only for a connection of its own.

const (
	prefix = "OTEL_EXPORTER_OTLP_"
	// usual is the time-out of a request (OpenTelemetry specification, "OpenTelemetry Protocol Exporter").
	usual = 10 * time.Second
	// most is the longest time-out: Run may not wait longer for one request.
	most = time.Minute
	// mostFile is larger than any file of certificates.
	mostFile = 1 << 20
)

// environment looks up variables. That of traces takes precedence over that of all signals.
type environment func(name string) (value string, set bool)

func (e environment) of(name string) (variable, value string) {
	for _, variable := range []string{prefix + "TRACES_" + name, prefix + name} {
		if value, set := e(variable); set && value != "" {
			return variable, value
		}
	}
	return "", ""
}

// transport is what the variables say of connections.
func (e environment) transport() (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if variable, file := e.of("CERTIFICATE"); file != "" {
		text, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s holds no PEM certificate", variable, file)
		}
	}
	certificates, certificate := e.of("CLIENT_CERTIFICATE")
	keys, key := e.of("CLIENT_KEY")
	switch {
	case certificate != "" && key != "":
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", certificates, keys, err)
		}
		config.Certificates = []tls.Certificate{pair}
	case certificate != "":
		return nil, fmt.Errorf("%s: needs %sCLIENT_KEY", certificates, prefix)
	case key != "":
		return nil, fmt.Errorf("%s: needs %sCLIENT_CERTIFICATE", keys, prefix)
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}, nil
}

func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > mostFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, mostFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// timeout is how long one request may take.
func (e environment) timeout() (time.Duration, error) {
	variable, text := e.of("TIMEOUT")
	if text == "" {
		return usual, nil
	}
	milliseconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || milliseconds <= 0 || milliseconds > most.Milliseconds() {
		return 0, fmt.Errorf("%s: %q is not a number of milliseconds from 1 to %d", variable, text, most.Milliseconds())
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// check refuses what the client would only log.
func (e environment) check() error {
	var errs []error
	if variable, protocol := e.of("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		errs = append(errs, fmt.Errorf("%s: %q is not http/protobuf, which is the only protocol here", variable, protocol))
	}
	if variable, compression := e.of("COMPRESSION"); compression != "" && compression != "gzip" && compression != "none" {
		errs = append(errs, fmt.Errorf("%s: %q is neither gzip nor none", variable, compression))
	}
	for _, variable := range []string{prefix + "HEADERS", prefix + "TRACES_HEADERS"} {
		text, _ := e(variable)
		for _, header := range strings.Split(text, ",") {
			if strings.TrimSpace(header) == "" {
				continue
			}
			// A value may be a secret: the error does not repeat it.
			name, value, found := strings.Cut(header, "=")
			if _, err := url.PathUnescape(value); !found || strings.TrimSpace(name) == "" || err != nil {
				errs = append(errs, fmt.Errorf("%s: a header is not NAME=VALUE, with the value encoded as in a URL", variable))
				break
			}
		}
	}
	return errors.Join(errs...)
}
