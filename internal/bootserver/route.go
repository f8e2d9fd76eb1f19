package bootserver

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
)

// A route answers one row of the table. http.ServeMux is not used: it redirects
// paths that are not clean, and firmware does not follow redirects.
type route struct {
	// post routes take POST, all others GET and HEAD.
	post bool
	// health routes are asked by load balancers, as often as they like.
	health bool
	// open routes give nobody a secret and take none: they are answered over plain HTTP whatever Config.SecretsNeedTLS says.
	// Whoever adds a route need not think of it, and it is refused there.
	open  bool
	serve func(s *Server, w http.ResponseWriter, r *http.Request, rest string)
}

// exact are the routes without a variable part.
var exact = map[string]*route{
	"/ipxe":        {serve: (*Server).serveChainload, open: true},
	"/ipxe/":       {serve: (*Server).serveChainload, open: true},
	"/httpboot":    {serve: (*Server).serveHTTPBoot, open: true},
	"/image":       {serve: (*Server).serveImage, open: true},
	"/boot.ipxe":   {serve: (*Server).serveBootstrap, open: true},
	"/boot.ipxe.0": {serve: (*Server).serveBootstrap, open: true},
	"/register":    {serve: (*Server).serveRegister, post: true},
	"/bootstate":   {serve: (*Server).serveBootState, post: true},
	"/v1":          {serve: (*Server).serveMetadata},
	"/healthz":     {serve: (*Server).serveHealth, health: true, open: true},
	"/readyz":      {serve: (*Server).serveReady, health: true, open: true},
}

var (
	scriptRoute    = &route{serve: (*Server).serveScript}
	ignitionRoute  = &route{serve: (*Server).serveIgnition}
	configRoute    = &route{serve: (*Server).serveConfig}
	programRoute   = &route{serve: (*Server).serveProgram, open: true}
	metadataRoute  = &route{serve: (*Server).serveMetadata}
	probeRoute     = &route{serve: (*Server).serveProbe}
	tokenRegister  = &route{serve: (*Server).serveTokenRegister, post: true}
	tokenBootState = &route{serve: (*Server).serveTokenBootState, post: true}
)

// file is where firmware of a boot method fetches what it boots.
type file struct {
	route
	folder, suffix string
}

// files are those of all boot methods.
var files = func() (all []file) {
	for _, f := range bootfile.Files {
		all = append(all, file{fileRoute(f), f.Folder, f.Suffix})
	}
	return all
}()

// find returns the route of a path and what varies in it. It does not allocate.
func find(path string) (*route, string) {
	if len(path) == 0 || path[0] != '/' {
		return nil, ""
	}
	// Hottest first.
	if rest, ok := strings.CutPrefix(path, "/ipxe/"); ok && rest != "" {
		return scriptRoute, rest
	}
	if rest, ok := strings.CutPrefix(path, "/ignition/"); ok {
		return ignitionRoute, rest
	}
	if r := exact[path]; r != nil {
		return r, ""
	}
	if rest, ok := strings.CutPrefix(path, "/config/"); ok && rest != "" {
		return configRoute, rest
	}
	if rest, ok := strings.CutPrefix(path, "/content/"); ok && rest != "" {
		return configRoute, rest
	}
	for i := range files {
		if rest, ok := strings.CutPrefix(path, files[i].folder); ok && strings.HasSuffix(rest, files[i].suffix) {
			return &files[i].route, rest
		}
	}
	if rest, ok := strings.CutPrefix(path, "/boot/"); ok {
		return programRoute, rest
	}
	if rest, ok := strings.CutPrefix(path, "/v1/"); ok {
		return metadataRoute, rest
	}
	if rest, ok := strings.CutPrefix(path, "/probe/"); ok && rest != "" {
		id, action, _ := strings.Cut(rest, "/")
		switch action {
		case "":
			return probeRoute, id
		case "register":
			return tokenRegister, id
		case "bootstate":
			return tokenBootState, id
		}
	}
	return nil, ""
}

var (
	readMethods = []string{"GET, HEAD"}
	postMethods = []string{"POST"}
)

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// query returns the first value of a key, without the map that url.ParseQuery
// makes. What cannot be unescaped is as good as absent.
func query(r *http.Request, key string) string {
	rest := r.URL.RawQuery
	for rest != "" {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(pair, "=")
		if name != key {
			continue
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return ""
		}
		return value
	}
	return ""
}
