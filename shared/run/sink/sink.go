package sink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// Options are what a Knative SinkBinding configures for a program.
type Options struct {
	// Sink is the URL that events are posted to.
	Sink string `envconfig:"K_SINK"`
	// Overrides is {"extensions":{…}}: what is added to every event.
	Overrides string `envconfig:"K_CE_OVERRIDES"`
	// CACerts are certificates in PEM that are trusted besides the system's.
	CACerts string `envconfig:"K_CA_CERTS"`
	// TrustBundles is a folder with further certificates, which need not exist;
	// trustBundles if empty.
	TrustBundles string `ignored:"true"`
	// TokenFile holds the token that the sink requires; without the file there is none.
	TokenFile string `envconfig:"NODEFENCE_TOKEN_FILE" default:"/oidc/token"`
}

// trustBundles is where a SinkBinding mounts the cluster's own certificates.
const trustBundles = "/knative-custom-certs"

// Sender posts events, in binary mode, to the one URL that it is given.
type Sender struct {
	trusting
	shown     string
	overrides map[string]string
}

// New refuses options with which no event could be sent.
func New(o Options) (*Sender, error) {
	o.TrustBundles = cmp.Or(o.TrustBundles, trustBundles)
	h := &Sender{trusting: trusting{o: o, timeout: sendTimeout}}
	u, err := url.Parse(o.Sink)
	if err != nil {
		return nil, errors.New("read K_SINK: it is not a URL") // the URL may hold a password
	}
	h.shown = u.Redacted()
	if u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("read K_SINK: %q is not an http or https URL", h.shown)
	}
	if h.overrides, err = parseOverrides(o.Overrides); err != nil {
		return nil, fmt.Errorf("read K_CE_OVERRIDES: %w", err)
	}
	if err := h.connectAnew(); err != nil {
		return nil, err
	}
	return h, nil
}

// String is the sink's URL, fit for a log.
func (h *Sender) String() string { return h.shown }

const (
	// sendTimeout bounds one try: a sink that accepts a connection and does not answer must
	// not hold other events up.
	sendTimeout = 10 * time.Second
	// connections is how many connections are kept open to the sink.
	connections = 8
	// maxAnswer bounds the part of a refusal that is repeated in a log line.
	maxAnswer = 256
	maxHeader = 64 << 10
	// maxToken is larger than any token; a larger file is something else.
	maxToken = 64 << 10
)

// Send returns when the sink has confirmed, with any 2xx, that it has the event.
func (h *Sender) Send(ctx context.Context, e event.Event) error {
	e, err := h.overridden(e)
	if err != nil {
		return err
	}
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, h.o.Sink, e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	token, err := h.token()
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := h.client.Load().Do(req)
	if err != nil {
		return h.notPosted(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said := answer(resp.Body, token)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("post event: %s %s", resp.Status, said)
	}
	return nil
}

// notPosted makes the next try read the trusted certificates again.
func (h *Sender) notPosted(err error) error {
	_, err = h.doubted(err)
	return fmt.Errorf("post event: %w", err)
}

// answer is the beginning of the sink's answer, in one line, even if it repeats the event
// (S29: no secret is shown). Reading it lets the connection be used again.
func answer(body io.Reader, token string) string {
	said, _ := io.ReadAll(io.LimitReader(body, int64(maxAnswer+len(token))))
	if token != "" {
		said = bytes.ReplaceAll(said, []byte(token), []byte("[token]"))
	}
	said = said[:min(len(said), maxAnswer)]
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(said), "")), " ")
}

// token is read before each send, because its file is renewed while the program runs.
func (h *Sender) token() (string, error) {
	if h.o.TokenFile == "" {
		return "", nil
	}
	f, err := os.Open(h.o.TokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the sink's token: %w", err)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the sink's token: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" || len(raw) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("read the sink's token: %s does not hold one", h.o.TokenFile)
	}
	return token, nil
}
