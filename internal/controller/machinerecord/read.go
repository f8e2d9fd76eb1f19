package machinerecord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/farrier-dev/farrier/internal/inspection/gzipped"
)

// maxCleanup bounds a record when it is unpacked: some hundred bytes a disk, and thousands of disks.
const maxCleanup = 4 << 20

// ReadCleanup unpacks a record of KindCleanup.
func ReadCleanup(obj *corev1.ConfigMap) (Cleanup, error) {
	var c Cleanup
	fail := func(err error) (Cleanup, error) {
		return Cleanup{}, fmt.Errorf("ConfigMap %s/%s: %s: %w", obj.Namespace, obj.Name, Key, err)
	}
	var body []byte
	err := gzipped.Unpack(obj.BinaryData[Key], func(r io.Reader) (err error) {
		body, err = io.ReadAll(io.LimitReader(r, maxCleanup+1))
		return err
	})
	if err != nil {
		return fail(err)
	}
	if len(body) > maxCleanup {
		return fail(errors.New("too large"))
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return fail(err)
	}
	return c, nil
}
