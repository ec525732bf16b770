package simclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// limit is long enough for all that a simulated machine does on command, also for flapping.
const limit = 30 * time.Second

// Client sends commands over the machines' unix socket.
type Client struct{ http *http.Client }

// New returns a client; it connects with each request.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &Client{http: &http.Client{
		Timeout:   limit,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}}
}

// Status returns all machines.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	return status, c.do(ctx, http.MethodGet, "/v1/status", nil, &status)
}

// Do makes something happen to a node's machine.
func (c *Client) Do(ctx context.Context, node, verb string) error {
	return c.do(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(node)+"/"+url.PathEscape(verb), nil, nil)
}

// Relist makes all machines read the cluster again, as if their kubelets were restarted.
func (c *Client) Relist(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/relist", nil, nil)
}

// SetFault makes a node's BMC misbehave, or stop misbehaving.
func (c *Client) SetFault(ctx context.Context, node, fault string) error {
	body := map[string]string{"fault": fault}
	return c.do(ctx, http.MethodPost, "/v1/bmc/"+url.PathEscape(node)+"/fault", body, nil)
}

// Log returns the commands that a node's BMC got.
func (c *Client) Log(ctx context.Context, node string) ([]Command, error) {
	log := []Command{}
	return log, c.do(ctx, http.MethodGet, "/v1/bmc/"+url.PathEscape(node)+"/log", nil, &log)
}

// Chassis passes on what the program of a real machine's BMC asks or orders, and returns what to tell the program.
func (c *Client) Chassis(ctx context.Context, node string, args []string) (string, error) {
	var answer struct {
		Says string `json:"says"`
	}
	err := c.do(ctx, http.MethodPost, "/v1/chassis/"+url.PathEscape(node), map[string][]string{"args": args}, &answer)
	return answer.Says, err
}

// Writers returns who wrote to which volume and when.
func (c *Client) Writers(ctx context.Context) (Writers, error) {
	var writers Writers
	return writers, c.do(ctx, http.MethodGet, "/v1/writers", nil, &writers)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://machines"+path, body)
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask machines: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return refusal(response.Status, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("parse answer: %w", err)
	}
	return nil
}

func refusal(status string, raw []byte) error {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Error == "" {
		return fmt.Errorf("machines answered %s: %s", status, bytes.TrimSpace(raw))
	}
	return fmt.Errorf("machines refused: %s", answer.Error)
}
