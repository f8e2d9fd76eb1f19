package sealedtest

import (
	"path/filepath"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
)

// pattern is n bytes that differ as those of a key do, and not all of them printable.
func pattern(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i)*7
	}
	return b
}

// Key is a key; another seed makes another one.
func Key(t testing.TB, seed byte) sealed.Key {
	t.Helper()
	key, err := sealed.ParseKey(pattern(seed, 32))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Dir opens a new directory, and says where a file in it is.
func Dir(t testing.TB, file string) (*sealed.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	d, err := sealed.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, filepath.Join(path, file)
}
