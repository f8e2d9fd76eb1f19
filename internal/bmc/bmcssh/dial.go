package bmcssh

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/bmc"
)

const (
	// DefaultPort is that of SSH (RFC 4253 §4.1).
	DefaultPort = 22
	// writeTimeout is how long a BMC may take no byte before the connection is given up.
	writeTimeout = 15 * time.Second
)

// ErrRefused says that the SSH server does not take the user name and the password.
var ErrRefused = errors.New("the SSH server refuses the password")

// HostKeyError says that nobody has accepted the key of an SSH server. It was told no password.
type HostKeyError struct {
	// Fingerprint is that of the key that the server showed (SHA256:…).
	Fingerprint string
	// Changed says that another key was accepted.
	Changed bool
}

func (e *HostKeyError) Error() string {
	if e.Changed {
		return "the SSH host key is not the one that was accepted: " + e.Fingerprint
	}
	return "nobody has accepted the SSH host key " + e.Fingerprint
}

// Target is the SSH server of a BMC.
type Target struct {
	Host        string
	Port        int // DefaultPort where zero
	Credentials bmc.Credentials
	// HostKey is the key that the BMC must have: its fingerprint (SHA256:…), or as in authorized_keys. Empty: none is good.
	HostKey string
}

// Address is host and port.
func (t Target) Address() string {
	port := t.Port
	if port == 0 {
		port = DefaultPort
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(port))
}

// Dial connects and logs in. The connection lives until it is closed or ctx ends.
func Dial(ctx context.Context, t Target) (*ssh.Client, error) {
	var refused error
	told := false
	config, err := clientConfig(t, &refused, &told)
	if err != nil {
		return nil, err
	}
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Address())
	if err != nil {
		return nil, err
	}
	conn := timedConn{plain}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, t.Address(), config)
	if err == nil {
		return ssh.NewClient(c, channels, requests), nil
	}
	_ = conn.Close()
	switch {
	case refused != nil:
		err = refused
	case ctx.Err() != nil:
		err = errors.Join(err, ctx.Err())
	case told: // also where it hangs up then: to tell it the password once more may lock the account
		err = fmt.Errorf("%w of %q: %w", ErrRefused, t.Credentials.Username, err)
	}
	return nil, fmt.Errorf("SSH at %s: %w", t.Address(), err)
}

// timedConn gives each write a deadline.
type timedConn struct{ net.Conn }

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// clientConfig logs in with a password, in either of the ways in which BMCs ask for one (RFC 4252 §8,
// RFC 4256), but only after the host key has been looked at: that order is SSH's own.
func clientConfig(t Target, refused *error, told *bool) (*ssh.ClientConfig, error) {
	reveal := func() string {
		*told = true
		return t.Credentials.Password.Reveal()
	}
	config := &ssh.ClientConfig{
		User: t.Credentials.Username,
		Auth: []ssh.AuthMethod{
			ssh.PasswordCallback(func() (string, error) { return reveal(), nil }),
			ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range questions {
					if !echos[i] {
						answers[i] = reveal()
					}
				}
				return answers, nil
			}),
		},
	}
	known, fingerprint, err := accepted(t.HostKey)
	if err != nil {
		return nil, err
	}
	if known != nil {
		config.HostKeyAlgorithms = algorithms(known.Type())
	}
	config.HostKeyCallback = func(_ string, _ net.Addr, key ssh.PublicKey) error {
		if shown := ssh.FingerprintSHA256(key); shown != fingerprint {
			*refused = &HostKeyError{Fingerprint: shown, Changed: fingerprint != ""}
		}
		return *refused
	}
	return config, nil
}

// accepted reads the key that a person has accepted: its fingerprint, and the key itself where that was written down.
func accepted(text string) (ssh.PublicKey, string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, "", nil
	}
	if digest, ok := strings.CutPrefix(text, "SHA256:"); ok {
		sum, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(digest, "="))
		if err != nil || len(sum) != sha256.Size {
			return nil, "", fmt.Errorf("accepted SSH host key: %.64q is not a fingerprint (SHA256:…)", text)
		}
		return nil, "SHA256:" + base64.RawStdEncoding.EncodeToString(sum), nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, "", fmt.Errorf("accepted SSH host key: %w", err)
	}
	return key, ssh.FingerprintSHA256(key), nil
}

// algorithms are those that a key can prove itself by: a server with several keys shall show the one
// that is known. RSA keys have three (RFC 8332).
func algorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	}
	return []string{keyType}
}
