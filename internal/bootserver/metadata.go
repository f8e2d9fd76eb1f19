package bootserver

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/farrier-dev/farrier/internal/bootview"
)

const (
	// metadataFlavor must be sent by whoever asks for metadata. A program that can be made to fetch a URL of somebody
	// else's choosing cannot be made to send a header.
	metadataFlavor = "Metadata-Flavor"
	metadataMetal  = "IronCore Metal"

	textNoFlavor = "Forbidden: header Metadata-Flavor: IronCore Metal is required\n"
	textShared   = "Conflict: more than one machine has this address\n"
)

// serveMetadata answers /v1/…: what a running machine may learn about itself. It is known by its address alone, so
// X-Forwarded-For counts for nothing here.
func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request, rest string) {
	if s.cfg.Instances == nil {
		notFound(w, r)
		return
	}
	w.Header()["Cache-Control"] = noStore
	if r.Header.Get(metadataFlavor) != metadataMetal {
		refuse(w, r, http.StatusForbidden, textNoFlavor)
		return
	}
	i, status := s.cfg.Instances.ByIP(caller(r))
	switch status {
	case bootview.Found:
		sendMetadata(w, r, i, rest)
	case bootview.Unsynced:
		unavailable(w, r, textUnsynced)
	case bootview.Conflict:
		refuse(w, r, http.StatusConflict, textShared)
	default:
		notFound(w, r)
	}
}

func sendMetadata(w http.ResponseWriter, r *http.Request, i *bootview.Instance, field string) {
	w.Header()["X-Content-Type-Options"] = nosniff
	data, ofUser := strings.CutPrefix(field, "user-data/")
	switch {
	case field == "":
		sendJSON(w, r, i.Fields)
	case ofUser:
		if value, ok := i.UserData[data]; ok {
			send(w, r, http.StatusOK, typeBinary, value)
			return
		}
		notFound(w, r)
	case field == "user-data" && i.UserData != nil:
		text := make(map[string]string, len(i.UserData))
		for k, v := range i.UserData {
			text[k] = string(v)
		}
		sendJSON(w, r, text)
	default:
		if value, ok := i.Fields[field]; ok && field != "user-data" {
			send(w, r, http.StatusOK, typeText, []byte(value))
			return
		}
		notFound(w, r)
	}
}

func sendJSON(w http.ResponseWriter, r *http.Request, fields map[string]string) {
	if fields == nil {
		fields = map[string]string{}
	}
	body, err := json.Marshal(fields)
	if err != nil { // strings can always be marshalled
		refuse(w, r, http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)+"\n")
		return
	}
	send(w, r, http.StatusOK, typeJSON, body)
}
