package boundedfile

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// Certificates is room for a chain, for a bundle of many authorities, or for a key.
const Certificates = 1 << 20

// Read reads a file of at most limit bytes. Its errors name the file.
func Read(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, ownership.Explain(path, err)
	}
	defer func() { _ = file.Close() }()
	return all(file, limit)
}

// ReadKey reads the file of a private key. It refuses one that others could have read or replaced (ownership.Key).
func ReadKey(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is no key, and is not waited for
	if err != nil {
		return nil, ownership.Explain(path, err)
	}
	defer func() { _ = file.Close() }()
	if err := ownership.Key(file); err != nil {
		return nil, err
	}
	return all(file, limit)
}

// KeyPair reads a certificate with its chain, and its key. The errors of its files name these.
func KeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := Read(certFile, Certificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ReadKey(keyFile, Certificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func all(file *os.File, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", file.Name(), limit)
	}
	return content, nil
}
