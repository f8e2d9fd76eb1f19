// Package otlp sends spans to a collector of OpenTelemetry, over HTTP (OTLP 1.9, "OTLP/HTTP", binary protobuf).
//
// Whoever has a span gives it to an Exporter and goes on: Export copies it into a queue of bounded length, or counts that it was dropped. Run
// sends what is in the queue. A collector that hangs holds up nothing but Run, for as long as one request may take, and at the end for a second.
//
// IDs come from whoever makes the span, so that several processes can add to one trace without a word to each other. That is why this is not the
// SDK of OpenTelemetry, which makes random IDs and keeps a span in memory until it ends; the client that sends is OpenTelemetry's.
//
// The environment variables OTEL_EXPORTER_OTLP_* say what is said of every exporter: headers, certificates, time-out and compression
// (environment.go). Where to send spans says a flag alone.
package otlp
