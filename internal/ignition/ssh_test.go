package ignition

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
)

func TestGenerateSSH(t *testing.T) {
	got, err := GenerateSSH("server-1")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(got.PEM)
	if err != nil {
		t.Fatalf("private key: %v", err)
	}
	if !bytes.HasPrefix(got.PEM, []byte("-----BEGIN OPENSSH PRIVATE KEY-----\n")) {
		t.Errorf("private key is not in OpenSSH format: %.40q", got.PEM)
	}
	public, comment, _, rest, err := ssh.ParseAuthorizedKey(got.AuthorizedKey)
	if err != nil {
		t.Fatalf("authorized key: %v", err)
	}
	if comment != "server-1" || len(rest) != 0 || public.Type() != ssh.KeyAlgoED25519 {
		t.Errorf("authorized key %q: comment %q, type %s, %d bytes left", got.AuthorizedKey, comment, public.Type(), len(rest))
	}
	if !bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
		t.Error("the two halves of the key do not belong together")
	}
	if len(got.Password) != passwordLength || strings.Trim(got.Password, passwordAlphabet) != "" {
		t.Errorf("password of %d characters outside of the alphabet: %q", len(got.Password), strings.Trim(got.Password, passwordAlphabet))
	}
	if err := bcrypt.CompareHashAndPassword([]byte(got.PasswordHash), []byte(got.Password)); err != nil {
		t.Errorf("hash does not match the password: %v", err)
	}
	if cost, err := bcrypt.Cost([]byte(got.PasswordHash)); err != nil || cost != 4 {
		t.Errorf("bcrypt cost %d (%v), want 4", cost, err)
	}
}

func TestGenerateSSHRefusesComments(t *testing.T) {
	for _, comment := range []string{"a\nb", "a\x00", "a: b", "[x]", "é"} {
		if _, err := GenerateSSH(comment); err == nil {
			t.Errorf("comment %q was accepted", comment)
		}
	}
	if _, err := GenerateSSH(""); err != nil {
		t.Errorf("without comment: %v", err)
	}
}

func TestSSHCredentialsAreRedacted(t *testing.T) {
	c, err := GenerateSSH("server-1")
	if err != nil {
		t.Fatal(err)
	}
	holder := struct{ C SSHCredentials }{c}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{c, &c, holder} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, c.Password) || strings.Contains(text, "PRIVATE KEY") {
				t.Errorf("%s of %T prints the secret: %s", format, v, text)
			}
		}
	}
}
