package machinerecord

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// maxCleanup bounds a record when it is unpacked: some hundred bytes a disk, and thousands of disks.
const maxCleanup = 4 << 20

// ReadCleanup unpacks a record of KindCleanup.
func ReadCleanup(obj *corev1.ConfigMap) (Cleanup, error) {
	var c Cleanup
	fail := func(err error) (Cleanup, error) {
		return Cleanup{}, fmt.Errorf("ConfigMap %s/%s: %s: %w", obj.Namespace, obj.Name, Key, err)
	}
	r, err := gzip.NewReader(bytes.NewReader(obj.BinaryData[Key]))
	if err != nil {
		return fail(err)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxCleanup+1))
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
