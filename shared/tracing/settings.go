package tracing

import (
	"fmt"
	"net/url"
	"strings"
)

// Settings are OpenTelemetry's own variables, as far as nodefence heeds them. Besides these the SDK
// reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
type Settings struct {
	// Endpoint is the collector's URL, to which /v1/traces is added; TracesEndpoint is the whole
	// URL, and wins. Without either there are no traces.
	Endpoint       string `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	TracesEndpoint string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`
	// Headers are sent with each request: name=value, by commas, each value percent-encoded.
	Headers       string `envconfig:"OTEL_EXPORTER_OTLP_HEADERS"`
	TracesHeaders string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_HEADERS"`
	// Certificate is a file of certificates by which the collector is trusted; the system's if empty.
	Certificate       string `envconfig:"OTEL_EXPORTER_OTLP_CERTIFICATE"`
	TracesCertificate string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"`
	// Protocol can only be http/protobuf.
	Protocol       string `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL"`
	TracesProtocol string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"`
	// Sampler says which traces are kept, and SamplerArg which part of them; all if empty.
	Sampler    string `envconfig:"OTEL_TRACES_SAMPLER"`
	SamplerArg string `envconfig:"OTEL_TRACES_SAMPLER_ARG"`
	// Disabled switches traces off whatever else is set. Only true does, in capitals or not.
	Disabled string `envconfig:"OTEL_SDK_DISABLED"`
}

// On tells whether there are to be traces.
func (s Settings) On() bool {
	return !strings.EqualFold(strings.TrimSpace(s.Disabled), "true") && s.Endpoint+s.TracesEndpoint != ""
}

// headers are sent with each request. The error has no value, because a value may be a secret.
func (s Settings) headers() (map[string]string, error) {
	name, text := either("HEADERS", s.TracesHeaders, s.Headers)
	all := map[string]string{}
	for h := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(h) == "" {
			continue
		}
		key, value, is := strings.Cut(h, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !is || err != nil || strings.TrimSpace(key) == "" || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("read %s: want name=value by commas, each value percent-encoded", name)
		}
		all[strings.TrimSpace(key)] = value
	}
	return all, nil
}

// url is where spans are posted to.
func (s Settings) url() (string, error) {
	name, at := either("ENDPOINT", s.TracesEndpoint, s.Endpoint)
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("read %s: want an http or https URL, such as http://collector:4318", name) // the value may have a secret
	}
	if u.User != nil || u.RawQuery != "" {
		return "", fmt.Errorf("read %s: want a URL without user and query: give a key in OTEL_EXPORTER_OTLP_HEADERS", name)
	}
	if s.TracesEndpoint == "" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// either is the setting for traces or, if that is empty, the one for all signals, and its name.
func either(name, traces, all string) (variable, value string) {
	if traces != "" {
		return "OTEL_EXPORTER_OTLP_TRACES_" + name, traces
	}
	return "OTEL_EXPORTER_OTLP_" + name, all
}
