package bootrelay

import (
	"encoding/json"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
)

// Acknowledged reports whether a boot configuration says that those who answer its machine have a boot attempt.
func Acknowledged(config *metalv1.ServerBootConfiguration, attempt string) bool {
	return attempt != "" && config.Annotations[metalv1.AnnotationBootAcknowledged] == attempt
}

// written is the value of metalv1.AnnotationBootAlarm.
type written struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Attempt string    `json:"attempt,omitempty"`
	At      time.Time `json:"at"`
}

// AlarmOf returns the newest alarm that a Server says, as far as it can be read.
func AlarmOf(server *metalv1.Server) (alarm.Alarm, bool) {
	var w written
	text, ok := server.Annotations[metalv1.AnnotationBootAlarm]
	if !ok || json.Unmarshal([]byte(text), &w) != nil || w.Reason == "" {
		return alarm.Alarm{}, false
	}
	return alarm.Alarm{Reason: w.Reason, Message: w.Message, Attempt: w.Attempt, At: w.At}, true
}

// textOf is the annotation of an alarm.
func textOf(a alarm.Alarm) (string, error) {
	text, err := json.Marshal(written{a.Reason, a.Message, a.Attempt, a.At.UTC()})
	return string(text), err
}
