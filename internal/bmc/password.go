package bmc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
)

const (
	lower  = "abcdefghijkmnopqrstuvwxyz"
	upper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	digits = "23456789" // what looks like another character is left out
	// defaultSymbols are taken by every vendor that we know.
	defaultSymbols = "!#%*+-./:=?@_"

	// defaultLength is of the passwords that are made where the BMC allows it;
	// minLength is needed for one character of each kind and some chance.
	defaultLength = 20
	minLength     = 8
	// maxPassword is more than any BMC keeps; one that asks for more is not believed.
	maxPassword = 128
)

// ErrPasswordRules means that no safe password, or not this one, fits the rules of the BMC.
var ErrPasswordRules = errors.New("no password fits the rules of the BMC")

// PasswordRules are what the passwords of a BMC have to be like.
type PasswordRules struct {
	MinLength int // zero: the BMC does not say, as with MaxLength
	MaxLength int
	Symbols   string
}

// PasswordRules reads the rules: length from the service, characters from the vendor's quirks.
func (c *Client) PasswordRules(ctx context.Context) (PasswordRules, error) {
	service, err := c.AccountService(ctx)
	if err != nil {
		return PasswordRules{}, err
	}
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return PasswordRules{}, err
	}
	return PasswordRules{MinLength: service.MinPasswordLength, MaxLength: service.MaxPasswordLength, Symbols: q.symbols}, nil
}

// NewPassword makes a random password that has lower and upper case letters, digits and
// symbols, begins with a letter, and is 20 characters long, or as near to that as is allowed.
func (p PasswordRules) NewPassword() (Secret, error) {
	length, symbols := max(defaultLength, p.MinLength), p.Symbols
	if p.MinLength > maxPassword {
		return "", fmt.Errorf("%w: passwords of at least %d characters are asked for: want %d or fewer", ErrPasswordRules, p.MinLength, maxPassword)
	}
	if p.MaxLength > 0 {
		length = min(length, p.MaxLength)
	}
	if length < p.MinLength {
		return "", fmt.Errorf("%w: passwords of at least %d and at most %d characters are asked for", ErrPasswordRules, p.MinLength, p.MaxLength)
	}
	if length < minLength {
		return "", fmt.Errorf("%w: passwords of at most %d characters are not safe: want %d or more", ErrPasswordRules, p.MaxLength, minLength)
	}
	if symbols == "" {
		symbols = defaultSymbols
	}
	kinds := []string{lower, upper, digits, symbols}
	password := make([]byte, length)
	for i := range password {
		from := lower + upper + digits + symbols
		if i < len(kinds) {
			from = kinds[i]
		}
		n, err := below(len(from))
		if err != nil {
			return "", err
		}
		password[i] = from[n]
	}
	// All but the first change places.
	for i := length - 1; i > 1; i-- {
		n, err := below(i)
		if err != nil {
			return "", err
		}
		password[i], password[n+1] = password[n+1], password[i]
	}
	return Secret(password), nil
}

// Check compares a password that a person has chosen with the rules. What characters a vendor takes is known of those that
// Farrier chooses from, so of others the BMC itself is asked.
func (p PasswordRules) Check(password Secret) error {
	switch n := len(password.Reveal()); {
	case n == 0:
		return fmt.Errorf("%w: it is empty", ErrPasswordRules)
	case n < p.MinLength, p.MaxLength > 0 && n > p.MaxLength:
		return fmt.Errorf("%w: it has %d characters, and the BMC takes %d to %d", ErrPasswordRules, n, p.MinLength, p.MaxLength)
	}
	return nil
}

func below(n int) (int, error) {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0, fmt.Errorf("random number: %w", err)
	}
	return int(v.Int64()), nil
}
