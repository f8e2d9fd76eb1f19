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
	// userData is the key of a machine's user data. No field has that name: what a label says is not what a claim's Secret holds.
	userData = "user-data"

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
		if s.cfg.SecretsExpired() {
			unavailable(w, r, textExpired)
			return
		}
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
	data, ofUser := strings.CutPrefix(field, userData+"/")
	switch {
	case field == "":
		sendJSON(w, r, document(i))
	case ofUser:
		if value, ok := i.UserData[data]; ok {
			send(w, r, http.StatusOK, typeBinary, value)
			return
		}
		notFound(w, r)
	case field == userData && i.UserData != nil:
		sendJSON(w, r, texts(i.UserData))
	default:
		if value, ok := i.Fields[field]; ok && field != userData {
			send(w, r, http.StatusOK, typeText, []byte(value))
			return
		}
		notFound(w, r)
	}
}

// document is everything that a machine may learn of itself: its fields, and its user data among them as an object where it has any.
func document(i *bootview.Instance) map[string]any {
	all := make(map[string]any, len(i.Fields)+1)
	for name, value := range i.Fields {
		all[name] = value
	}
	delete(all, userData)
	if i.UserData != nil {
		all[userData] = texts(i.UserData)
	}
	return all
}

func texts(data map[string][]byte) map[string]string {
	text := make(map[string]string, len(data))
	for key, value := range data {
		text[key] = string(value)
	}
	return text
}

func sendJSON(w http.ResponseWriter, r *http.Request, document any) {
	body, err := json.Marshal(document)
	if err != nil { // texts can always be marshalled
		refuse(w, r, http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)+"\n")
		return
	}
	send(w, r, http.StatusOK, typeJSON, body)
}
