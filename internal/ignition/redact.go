package ignition

import "regexp"

// quoted is what parsers quote of a document: YAML's puts values between backticks and anchors between single quotes,
// that of URLs between double quotes. Each goes from the first quote to the last, because a value may hold quotes and lines of
// its own. Names of keys, the variant and the version are not taken out: they are what has to be corrected.
var quoted = regexp.MustCompile("(?s)`.*`|'.*'|\".*\"")

// redact takes the content of a payload out of a parser's message, which goes into conditions and events that more
// people read than the Secret. Line, field and type stay.
func redact(message string) string { return quoted.ReplaceAllString(message, "[redacted]") }
