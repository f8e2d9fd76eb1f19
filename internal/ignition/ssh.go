package ignition

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
)

const (
	passwordLength = 20
	// Letters and digits that cannot be mistaken for each other on a serial
	// console. 56^20 is more than 2^116 passwords.
	passwordAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"
	// A slow hash protects passwords that can be guessed. This one cannot, and
	// one is made for every server of an installation, so the least cost does.
	passwordCost = bcrypt.MinCost
)

// SSHCredentials opens the probe image to the person who debugs a machine.
// PEM, AuthorizedKey and Password are the keys "pem", "pub" and "password" of
// the Secret beside the discovery Secret; PasswordHash goes to the machine.
type SSHCredentials struct {
	PEM           []byte // private key, OpenSSH format
	AuthorizedKey []byte // public key, one line as in authorized_keys
	Password      string
	PasswordHash  string // crypt(3), bcrypt
}

// String keeps credentials out of logs.
func (SSHCredentials) String() string { return "[redacted]" }

// GoString keeps credentials out of logs.
func (SSHCredentials) GoString() string { return "[redacted]" }

// GenerateSSH makes an Ed25519 key pair and a password. The comment ends up in
// both halves of the key and names whose it is, the server for example.
func GenerateSSH(comment string) (SSHCredentials, error) {
	if comment != "" && !keyText.MatchString(comment) {
		return SSHCredentials{}, fmt.Errorf("comment %q of an SSH key is not one line of letters, digits and @._+/=-", comment)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return SSHCredentials{}, fmt.Errorf("generate SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return SSHCredentials{}, fmt.Errorf("encode SSH private key: %w", err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return SSHCredentials{}, fmt.Errorf("encode SSH public key: %w", err)
	}
	line := strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key)), "\n")
	if comment != "" {
		line += " " + comment
	}
	password := newPassword()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), passwordCost)
	if err != nil {
		return SSHCredentials{}, fmt.Errorf("hash password: %w", err)
	}
	return SSHCredentials{
		PEM:           pem.EncodeToMemory(block),
		AuthorizedKey: []byte(line + "\n"),
		Password:      password,
		PasswordHash:  string(hash),
	}, nil
}

// newPassword draws each character uniformly: a random byte beyond the last
// whole multiple of the alphabet is drawn again.
func newPassword() string {
	const usable = 256 - 256%len(passwordAlphabet)
	password := make([]byte, 0, passwordLength)
	var draw [2 * passwordLength]byte
	for {
		rand.Read(draw[:])
		for _, b := range draw {
			if int(b) >= usable {
				continue
			}
			password = append(password, passwordAlphabet[int(b)%len(passwordAlphabet)])
			if len(password) == passwordLength {
				return string(password)
			}
		}
	}
}
