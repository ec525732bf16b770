package ec2_test

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
)

// FuzzState reads an instance from an answer of any bytes.
func FuzzState(f *testing.F) {
	const head, tail = `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet><item>`, `</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
	for _, body := range []string{
		head + `<instanceId>` + id + `</instanceId><instanceState><code>16</code><name>running</name></instanceState>` + tail,
		head + `<instanceId>` + id + `</instanceId><instanceState><code>80</code><name>stopped</name></instanceState>` + tail,
		head + `<instanceId>` + id + `</instanceId><instanceState><name>stopped</name></instanceState>`,
		head + `<instanceState><name>terminated</name></instanceState>` + tail, head + tail, `<DescribeInstancesResponse>`, `{}`, ``,
	} {
		f.Add([]byte(body))
	}
	var body []byte // the one answer, set before each read
	ec2test.Nobody(f)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
		_, _ = w.Write(body)
	}))
	f.Cleanup(srv.Close)
	d := dial(f, srv.URL, nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		body = b
		devicetest.ReadGarbled(t, d, b, wholeXML(b) && (strings.Contains(string(b), "stopped") || strings.Contains(string(b), "terminated")))
	})
}

// wholeXML: each element that begins ends, and nothing is cut off.
func wholeXML(b []byte) bool {
	d, depth, elements := xml.NewDecoder(strings.NewReader(string(b))), 0, 0
	for {
		switch token, err := d.Token(); {
		case err == io.EOF:
			return depth == 0 && elements > 0
		case err != nil:
			return false
		default:
			switch token.(type) {
			case xml.StartElement:
				depth, elements = depth+1, elements+1
			case xml.EndElement:
				depth--
			}
			if depth == 0 && elements > 0 {
				return true // what follows the first element is not read
			}
		}
	}
}
