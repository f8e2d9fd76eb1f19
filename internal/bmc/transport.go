package bmc

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

const (
	defaultRequestTimeout = 10 * time.Second
	defaultIdleTimeout    = 30 * time.Second
	// defaultUploadTimeout is also for what the kernel still holds of an image when the last byte was written: some megabytes, over a slow link.
	defaultUploadTimeout = 2 * time.Minute
	// tlsSessions is how many BMCs' TLS sessions a transport can resume; a full
	// handshake is a second of work for a small BMC.
	tlsSessions = 1 << 14
	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
)

// Options are what clients have in common. The zero value is usable.
type Options struct {
	// RequestTimeout is the deadline of one request: connecting, TLS and body
	// included. 10 s where zero.
	RequestTimeout time.Duration
	// UploadTimeout is how long a BMC may take no byte of an image that is sent to it, and then, when it has all, may take to answer. 2 min
	// where zero.
	UploadTimeout time.Duration
	// IdleTimeout is how long an unused connection is kept. 30 s where zero.
	IdleTimeout time.Duration
	// BodyLimit is the largest answer read, in bytes. 4 MiB where zero.
	BodyLimit int64
	// Certificate is the one that a person has accepted; then neither RootCAs nor InsecureSkipVerify counts.
	Certificate AcceptedCertificate
	// MACAddress is that of the BMC where it is known; empty: the BMC is asked for it.
	MACAddress string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// RootCAs verify certificates, the system's where nil.
	RootCAs *x509.CertPool
	// Clock tells the time for dates in Retry-After.
	Clock clock.Clock
	// Transport dials connections. The clients of a fleet share one; nil: the client has its own.
	Transport *http.Transport
	// Context marks our sessions in the BMC's session table (Session.Context),
	// so that those a killed process left behind can be found. "farrier" where empty.
	Context string
	// Login says how to go about a password that may be wrong.
	Login LoginPolicy
	// OnRequest, where set, is told of every request. It must not block.
	OnRequest func(Request)

	adjust func(*quirks) // tests show with it how a client without a quirk fails
}

// Request is what OnRequest hears of a request.
type Request struct {
	Method   string
	Login    bool // the request was the making of a session
	Session  bool // it was about a session, and changed nothing else
	Duration time.Duration
	// Host and Port are those of the BMC's endpoint; Port is zero where that is the scheme's. Op is the request as errors name it, such as "POST /redfish/v1/Systems/1/…", and Status the answer's;
	// zero: there was none.
	Host, Op string
	Port     int
	Status   int
	// Kind is that of the error, "" where the BMC answered with success.
	Kind Kind
}

func (o Options) withDefaults() Options {
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.UploadTimeout <= 0 {
		o.UploadTimeout = defaultUploadTimeout
	}
	if o.BodyLimit <= 0 {
		o.BodyLimit = defaultBodyLimit
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Context == "" {
		o.Context = "farrier"
	}
	return o
}

// NewTransport returns a transport for any number of BMCs. It dials connections and resumes TLS sessions; each client keeps its own
// connection. Sharing one transport makes ten thousand clients cheap.
func NewTransport(o Options) *http.Transport {
	o = o.withDefaults()
	return &http.Transport{
		DialContext: new(net.Dialer).DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            o.RootCAs,
			InsecureSkipVerify: o.InsecureSkipVerify, // the operator chose it by name
			ClientSessionCache: tls.NewLRUClientSessionCache(tlsSessions),
			NextProtos:         []string{"http/1.1"},
		},
		MaxResponseHeaderBytes: maxHeader,
		// What is written is a header and a small body. With the defaults, 4 KiB each way, the
		// buffers of ten thousand connections are most of what they cost.
		WriteBufferSize: 1 << 10,
		ReadBufferSize:  2 << 10,
		// Bodies are a few kilobytes; compressing them costs the BMC more than
		// sending them.
		DisableCompression: true,
	}
}
