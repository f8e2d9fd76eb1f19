package probe

import (
	"os"
	"time"
)

// tpmPatience is how long a TPM may take to make its endorsement key: those of servers take some seconds.
const tpmPatience = time.Minute

// endorsementKey asks the TPM of this machine. The resource manager of the kernel forgets the key when the file is closed.
func endorsementKey() (string, error) {
	type result struct {
		key string
		err error
	}
	done := make(chan result, 1)
	go func() {
		key, err := askTPM("/dev/tpmrm0")
		done <- result{key, err}
	}()
	timer := time.NewTimer(tpmPatience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.key, r.err
	case <-timer.C:
		return "", os.ErrDeadlineExceeded
	}
}

func askTPM(device string) (string, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(endorsementCommand()); err != nil {
		return "", err
	}
	answer := make([]byte, maxTPMAnswer)
	n, err := f.Read(answer) // one answer a read
	if err != nil {
		return "", err
	}
	return parseEndorsement(answer[:n])
}
