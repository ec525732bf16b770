package ec2

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/logging"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// account is this process's own AWS identity. It is found as all AWS tools find it, once
// for each region.
type account struct {
	mu       sync.Mutex
	byRegion map[string]aws.Config
	// sender replaces the network in tests.
	sender aws.HTTPClient
}

// in reads the environment and AWS's own files. If they name no region, the given region is
// used to get credentials.
func (a *account) in(ctx context.Context, region string) (aws.Config, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cfg, ok := a.byRegion[region]; ok {
		return cfg, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithDefaultRegion(region), config.WithLogger(logging.Nop{}), config.WithHTTPClient(a.http()))
	if err != nil {
		return aws.Config{}, err
	}
	if a.byRegion == nil {
		a.byRegion = map[string]aws.Config{}
	}
	a.byRegion[region] = cfg
	return cfg, nil
}

func (a *account) http() aws.HTTPClient {
	if a.sender != nil {
		return a.sender
	}
	return plainHTTP(trust.Dial) // nothing is sent after a call has ended
}

// plainHTTP keeps no connection open. A connection that existed when a Lambda was frozen is
// dead when it continues, and net/http repeats a request only on a kept connection. The SDK gets
// credentials apart from the call that waits for them, so each connection has the SDK's own limit:
// without it the system tries a silent address for two minutes.
func plainHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.DisableKeepAlives = true
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, awshttp.DefaultDialConnectTimeout)
			defer cancel()
			return dial(ctx, network, address)
		}
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	})
}

// connection is one conversation about one instance.
type connection struct {
	*instance
	api *sdk.Client
	who *identity
}

func (i *instance) connect(ctx context.Context) (*connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: instance %s: %w", device.ErrUnreachable, i.id, err)
	}
	cfg, err := i.own.in(ctx, i.region)
	if err != nil {
		return nil, fmt.Errorf("%w: read this process's AWS configuration: %s", device.ErrDenied, line(err.Error()))
	}
	who := &identity{from: cfg.Credentials}
	if i.accessKey != "" {
		who.from = credentials.NewStaticCredentialsProvider(i.accessKey, i.secretKey, "")
	}
	api := sdk.NewFromConfig(cfg, func(o *sdk.Options) {
		o.Region, o.Credentials, o.Logger = i.region, who, logging.Nop{}
		// A command is sent once: if its answer is lost, only State tells whether it took
		// effect. The caller reads before it sends another (S9: read first, then act).
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 1
		if i.endpoint != "" {
			o.BaseEndpoint = aws.String(i.endpoint)
		}
	})
	return &connection{instance: i, api: api, who: who}, nil
}

// switching is an option of the calls that change something: they are not sent once the time
// of the claim is over. That is asked for last, when the credentials are there and the request
// is signed (S8: the intent is saved before the call).
func switching(o *sdk.Options) { o.HTTPClient = inTime{o.HTTPClient} }

type inTime struct{ sdk.HTTPClient }

func (h inTime) Do(r *http.Request) (*http.Response, error) {
	if err := device.InTime(r.Context()); err != nil {
		return nil, err
	}
	if r.Body != nil {
		r.Body = &timelyBody{device.TimelyBody(r.Context(), r.Body), r.Body}
	}
	return h.HTTPClient.Do(r)
}

type timelyBody struct {
	io.Reader
	io.Closer
}

// identity gives credentials, and remembers the texts that no error may contain (S29: no
// secret is shown).
type identity struct {
	from aws.CredentialsProvider
	last aws.Credentials
}

// Retrieve is called by the SDK within the one call that is under way.
func (w *identity) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := w.from.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, &noCredentials{err}
	}
	w.last = c
	return c, nil
}

// noCredentials tells a failure to get credentials from later failures.
type noCredentials struct{ cause error }

func (e *noCredentials) Error() string { return e.cause.Error() }
func (e *noCredentials) Unwrap() error { return e.cause }
