// Package spans is a collector for tests: it takes OpenTelemetry's spans by OTLP over HTTP, read with
// the protocol's official types, and says what is wrong with the trace of a fence.
package spans
