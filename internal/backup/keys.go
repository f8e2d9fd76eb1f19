package backup

import (
	"bytes"
	"errors"
	"fmt"

	"filippo.io/age"

	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

const (
	maxKeyFile = 64 << 10
	// minPassphrase is what a passphrase has at least. Who has the file can try passphrases for as long as he likes.
	minPassphrase = 12
)

// Recipients are for whom a file is encrypted: public keys of age, or who knows a passphrase. Without both it is not encrypted.
func Recipients(keys []string, passphraseFile string) ([]age.Recipient, error) {
	if len(keys) > 0 && passphraseFile != "" {
		return nil, errors.New("--recipient and --passphrase-file: give one of them")
	}
	if passphraseFile != "" {
		passphrase, err := readPassphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		recipient, err := age.NewScryptRecipient(passphrase)
		if err != nil {
			return nil, fmt.Errorf("--passphrase-file: %w", err)
		}
		return []age.Recipient{recipient}, nil
	}
	recipients := make([]age.Recipient, 0, len(keys))
	for _, key := range keys {
		recipient, err := age.ParseX25519Recipient(key)
		if err != nil {
			return nil, fmt.Errorf("--recipient: %q is no public key of age: %w", key, err)
		}
		recipients = append(recipients, recipient)
	}
	return recipients, nil
}

// Identities are what a file is opened with.
func Identities(identityFile, passphraseFile string) ([]age.Identity, error) {
	var identities []age.Identity
	if identityFile != "" {
		text, err := boundedfile.ReadKey(identityFile, maxKeyFile)
		if err == nil {
			identities, err = age.ParseIdentities(bytes.NewReader(text))
		}
		if err != nil {
			return nil, fmt.Errorf("--identity-file: %s: %w", identityFile, err)
		}
	}
	if passphraseFile != "" {
		passphrase, err := readPassphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		identity, err := age.NewScryptIdentity(passphrase)
		if err != nil {
			return nil, fmt.Errorf("--passphrase-file: %w", err)
		}
		identities = append(identities, identity)
	}
	return identities, nil
}

func readPassphrase(path string) (string, error) {
	text, err := boundedfile.ReadKey(path, maxKeyFile)
	if err != nil {
		return "", fmt.Errorf("--passphrase-file: %w", err)
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) < minPassphrase {
		return "", fmt.Errorf("--passphrase-file: %s: the passphrase is shorter than %d characters", path, minPassphrase)
	}
	return string(text), nil
}
