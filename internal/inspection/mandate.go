package inspection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds what is read of the answer to a registration: an order is a
// few dozen bytes, and whatever stands between may answer with a page of its own.
const maxAnswer = 16 << 10

// Mandate is the permission to wipe the machine that this process runs on. The
// zero Mandate permits nothing, and [ReadMandate] is the only way to another one:
// code that destroys data asks for a Mandate, so no path leads there that has not
// been through an answered registration.
type Mandate struct{ mode CleanMode }

// Mode is how thoroughly disks are to be wiped; empty for the zero Mandate.
func (m Mandate) Mode() CleanMode { return m.mode }

// Permits reports whether anything may be wiped.
func (m Mandate) Permits() bool { return m.mode != "" && m.mode != CleanNone }

// ReadMandate reads the answer to a registration, and closes nothing. A body that
// is empty or not ours is not an order and not an error: boot servers that know no
// orders answer with anything. An order that is there and cannot be
// understood is an error, because somebody waits for it to be carried out.
func ReadMandate(resp *http.Response) (Mandate, error) {
	if resp == nil || resp.StatusCode != http.StatusCreated || resp.Body == nil {
		return Mandate{}, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return Mandate{}, fmt.Errorf("answer to the registration: %w", err)
	}
	body = bytes.TrimSpace(body)
	var fields map[string]json.RawMessage
	if len(body) > maxAnswer || json.Unmarshal(body, &fields) != nil {
		return Mandate{}, nil
	}
	raw, ok := fields["cleanup"]
	if !ok || string(raw) == "null" {
		return Mandate{}, nil
	}
	var order CleanOrder
	if err := unmarshal(raw, &order, "cleanup"); err != nil {
		return Mandate{}, fmt.Errorf("order: %w", err)
	}
	if order.Mode == "" {
		return Mandate{}, fmt.Errorf("order: %w", malformed("cleanup.mode", errors.New("is empty")))
	}
	return Mandate{mode: order.Mode}, nil
}
