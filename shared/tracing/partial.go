package tracing

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// partly is a collector's word about spans of a request that it took: how many of them it refuses, and why.
// With 0 it took all, and warns.
type partly struct {
	refused int
	why     string
}

// Error implements error.
func (p *partly) Error() string {
	if p.refused == 0 {
		return fmt.Sprintf("the collector took the spans, and warns: %s", p.why)
	}
	return fmt.Sprintf("the collector refused %d spans: %s", p.refused, p.why)
}

// partial reads partial_success of OTLP's ExportTraceServiceResponse: field 1 of the answer, which has
// rejected_spans in its field 1, and error_message in 2. OpenTelemetry's type of it brings gRPC along. An
// answer that cannot be read says nothing.
func partial(answer []byte) error {
	p := &partly{}
	fields(answer, func(n protowire.Number, _ uint64, of []byte) {
		if n != 1 {
			return
		}
		fields(of, func(n protowire.Number, number uint64, is []byte) {
			switch n {
			case 1:
				p.refused = int(min(number, math.MaxInt32))
			case 2:
				p.why = text(string(is))
			}
		})
	})
	if p.refused == 0 && p.why == "" {
		return nil
	}
	return p
}

// fields calls do for each field of a message that is a number or has bytes, until one cannot be read.
func fields(message []byte, do func(n protowire.Number, number uint64, is []byte)) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return
		}
		message = message[size:]
		var number uint64
		var is []byte
		switch kind {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			is, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(n, kind, message)
		}
		if size < 0 {
			return
		}
		message = message[size:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			do(n, number, is)
		}
	}
}
