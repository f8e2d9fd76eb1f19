package operator

import (
	"context"
	"errors"
	"fmt"
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
	err := c.ask(ctx, http.MethodPost, PathDashboard+"link", &link)
	if status := (*statusError)(nil); errors.As(err, &status) && (status.code == http.StatusNotFound || status.code == http.StatusMethodNotAllowed) {
		return link, ErrNoDashboard
	}
	if err != nil {
		return link, err
	}
	if !strings.HasPrefix(link.Path, PathDashboard) {
		return link, fmt.Errorf("POST %slink: %q is no path of the dashboard", PathDashboard, link.Path)
	}
	return link, nil
}
