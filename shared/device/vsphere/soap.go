package vsphere

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// ref names an object of vSphere's.
type ref struct{ kind, value string }

// as is a reference in a request.
func (r ref) as(name string) string {
	return "<" + name + ` type="` + esc(r.kind) + `">` + esc(r.value) + "</" + name + ">"
}

// with is a text in a request.
func with(name, text string) string { return "<" + name + ">" + esc(text) + "</" + name + ">" }

func esc(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder accepts every write
	return b.String()
}

// element is one element of an answer, with everything in it.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inner   []element  `xml:",any"`
}

func (e element) name() string { return e.XMLName.Local }

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name && a.Name.Space != xsi {
			return a.Value
		}
	}
	return ""
}

// all returns the direct children of a name.
func (e element) all(name string) []element {
	var all []element
	for _, i := range e.Inner {
		if i.name() == name {
			all = append(all, i)
		}
	}
	return all
}

// at follows first children by name; a missing element is empty.
func (e element) at(path ...string) element {
	for _, name := range path {
		found := e.all(name)
		if len(found) == 0 {
			return element{}
		}
		e = found[0]
	}
	return e
}

func (e element) text() string { return strings.TrimSpace(e.Text) }

// ref reads the element as a reference; empty if it is none.
func (e element) ref() ref { return ref{e.attr("type"), e.text()} }

const xsi = "http://www.w3.org/2001/XMLSchema-instance"

// fault is a refusal in vSphere's own words.
type fault struct {
	// name is that of the fault's type, for example NoPermission.
	name, text string
	// privilege and existing are set in the faults that have them.
	privilege, existing string
}

func (f *fault) Error() string { return f.name + ": " + f.text }

// faultOf reads a fault's element. An attribute, or its name, tells its type.
func faultOf(e element, text string) *fault {
	name := strings.TrimSuffix(e.name(), "Fault")
	for _, a := range e.Attrs {
		if a.Name.Space == xsi && a.Name.Local == "type" {
			name = a.Value[strings.LastIndex(a.Value, ":")+1:]
		}
	}
	return &fault{name: name, text: text, privilege: e.at("privilegeId").text(), existing: e.at("existingState").text()}
}

const envelope = xml.Header + `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`

// errNotSOAP: vSphere does not give such an answer.
var errNotSOAP = errors.New("the answer is not what vSphere has")

// call sends one request, once, and returns the answer's element.
func (c *conversation) call(ctx context.Context, method string, this ref, args ...string) (element, error) {
	body := envelope + "<" + method + ` xmlns="urn:vim25">` + this.as("_this") + strings.Join(args, "") + "</" + method + "></Body></Envelope>"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.m.at()+"/sdk", strings.NewReader(body))
	if err != nil {
		return element{}, err
	}
	req.GetBody = nil                                         // the request can't be sent again
	req.Body = io.NopCloser(device.TimelyBody(ctx, req.Body)) // and a connection may have to be made first
	req.Header.Set("Content-Type", `text/xml; charset="utf-8"`)
	req.Header.Set("SOAPAction", "urn:vim25/"+version)
	req.Header.Set("User-Agent", "nodefence")
	for name, value := range c.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if err := device.InTime(ctx); err != nil {
		return element{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return element{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := c.take(ctx, resp)
	if err != nil {
		return element{}, err
	}
	return answer(method, resp.StatusCode, text)
}

// take reads an answer, whose length is bounded.
func (c *conversation) take(ctx context.Context, resp *http.Response) ([]byte, error) {
	for _, k := range resp.Cookies() {
		c.cookies[k.Name] = k.Value
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusInternalServerError {
		return nil, &status{resp.StatusCode, resp.Header.Get("Retry-After")}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest+1))
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil: // the answer came while the connection was being closed
		return nil, ctx.Err()
	case len(text) > longest:
		return nil, fmt.Errorf("%w: it is longer than %d bytes", errNotSOAP, longest)
	case len(text) == 0:
		return nil, io.ErrUnexpectedEOF
	}
	return text, nil
}

// answer is the response to a method, or the fault in its place.
func answer(method string, code int, text []byte) (element, error) {
	var e element
	err := xml.Unmarshal(text, &e)
	body := e.at("Body")
	if f := body.at("Fault"); err == nil && f.name() != "" {
		detail := f.at("detail")
		if len(detail.Inner) == 0 {
			return element{}, &fault{text: f.at("faultstring").text()}
		}
		return element{}, faultOf(detail.Inner[0], f.at("faultstring").text())
	}
	got := body.at(method + "Response")
	switch {
	case code != http.StatusOK:
		return element{}, &status{code: code}
	case err != nil:
		return element{}, fmt.Errorf("%w: %w", errNotSOAP, err)
	case e.name() != "Envelope" || got.name() == "":
		return element{}, errNotSOAP
	}
	return got, nil
}
