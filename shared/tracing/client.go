package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP, in protobuf. It is beside OpenTelemetry's own client
// because that one brings gRPC along, which is a tenth of the functions' program.
type client struct {
	url     string
	headers http.Header
	http    *http.Client
}

const protobuf = "application/x-protobuf"

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error { c.http.CloseIdleConnections(); return nil }

// UploadTraces implements otlptrace.Client. It does not try again: what is lost is counted. Its error is a
// partly if the collector took the request.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is by its definition the same on the wire as the request of OTLP's service.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = c.headers.Clone()
	req.Header.Set("Content-Type", protobuf)
	resp, err := c.http.Do(req)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // without the URL, which may hold a token
	}
	if err != nil {
		return fmt.Errorf("post spans: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // to its end, so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("post spans: the collector answered %s", resp.Status)
	}
	if err != nil || resp.Header.Get("Content-Type") != protobuf {
		return nil // it took them, and says no more that can be read
	}
	return partial(answer)
}
