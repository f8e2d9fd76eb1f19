package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// DashboardLink is the answer to POST /dashboard/link: a link that signs in once.
type DashboardLink struct {
	// Path is the link's, at the operator address.
	Path string    `json:"path"`
	User string    `json:"user"`
	Ends time.Time `json:"ends"`
}

// ErrNoDashboard says that the server serves no dashboard.
var ErrNoDashboard = errors.New("no dashboard there: the server is an older Farrier, or has --dashboard=false")

// DashboardLink asks for a link with the rights of the caller.
func (c *Client) DashboardLink(ctx context.Context) (DashboardLink, error) {
	var link DashboardLink
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+PathDashboard+"link", nil)
	if err != nil {
		return link, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return link, err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return link, ErrUnauthorized
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return link, ErrNoDashboard
	default:
		return link, fmt.Errorf("POST %slink: %s", PathDashboard, answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&link); err != nil {
		return link, fmt.Errorf("POST %slink: %w", PathDashboard, err)
	}
	if !strings.HasPrefix(link.Path, PathDashboard) {
		return link, fmt.Errorf("POST %slink: %q is no path of the dashboard", PathDashboard, link.Path)
	}
	return link, nil
}
