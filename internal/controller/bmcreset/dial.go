package bmcreset

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// maxOutput bounds what is read of a command's output.
const maxOutput = 64 << 10

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

// Request asks for one reset. Nothing is done twice under one ID.
type Request struct {
	// Name is that of the BMC object, which is woken; ID makes the request one of a kind.
	Name, ID    string
	Make        Make
	Host        string
	Port        int // 22 where zero
	Credentials bmc.Credentials
	// HostKey is the key that the BMC must have: its fingerprint (SHA256:…), or as in authorized_keys. Empty: none is good.
	HostKey string
}

// Result is what came of a Request.
type Result struct {
	End time.Time
	Err error
}

// reset connects, types and hangs up.
func reset(ctx context.Context, r Request) error {
	port := r.Port
	if port == 0 {
		port = 22
	}
	address := net.JoinHostPort(r.Host, strconv.Itoa(port))
	var refused error
	config, err := clientConfig(r, &refused)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if refused != nil {
		return fmt.Errorf("SSH at %s: %w", address, refused)
	}
	if err != nil {
		return fmt.Errorf("SSH at %s: %w", address, errors.Join(err, ctx.Err()))
	}
	client := ssh.NewClient(c, channels, requests)
	defer client.Close()
	for _, command := range r.Make.commands() {
		err = run(client, command)
		if ctx.Err() != nil {
			return fmt.Errorf("SSH at %s: %s did not end in time: %w", address, command, ctx.Err())
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("SSH at %s: %w", address, err)
}

// clientConfig logs in with a password, in either of the ways in which BMCs ask for one (RFC 4252 §8,
// RFC 4256), but only after the host key has been looked at: that order is SSH's own.
func clientConfig(r Request, refused *error) (*ssh.ClientConfig, error) {
	password := r.Credentials.Password.Reveal()
	config := &ssh.ClientConfig{
		User: r.Credentials.Username,
		Auth: []ssh.AuthMethod{
			ssh.Password(password),
			ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range questions {
					if !echos[i] {
						answers[i] = password
					}
				}
				return answers, nil
			}),
		},
	}
	known, fingerprint, err := accepted(r.HostKey)
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

// run types one command. A connection that breaks is what a restart looks like from here.
func run(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	defer session.Close()
	stdout, err := session.StdoutPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	stdin, err := session.StdinPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if session.Start(command) != nil {
		_ = session.Close() // some have one at a time
		return typeIn(client, command)
	}
	_ = stdin.Close()
	return ended(session, stdout, command)
}

// typeIn types a command into a shell: some BMCs know no exec requests.
func typeIn(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	defer session.Close()
	session.Stdin = strings.NewReader(command + "\nexit\n")
	stdout, err := session.StdoutPipe()
	if err == nil {
		err = session.Shell()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return ended(session, stdout, command)
}

func ended(session *ssh.Session, stdout io.Reader, command string) error {
	output, _ := io.ReadAll(io.LimitReader(stdout, maxOutput))
	if line := refused(string(output)); line != "" {
		return fmt.Errorf("%s: refused: %.200q", command, line)
	}
	var status *ssh.ExitError
	if errors.As(session.Wait(), &status) {
		return fmt.Errorf("%s: exit status %d: %.200q", command, status.ExitStatus(), strings.TrimSpace(string(output)))
	}
	return nil
}
