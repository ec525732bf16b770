package tracing

import (
	"fmt"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sampler keeps a trace whole or not at all. Which, follows from the trace's ID alone, in every process
// alike: not from the flag in an event's traceparent, which whoever sends the event writes. The root of a
// fence's trace has no parent, so a parentbased sampler asks the one in its name about each trace; here both
// are the same.
func (s Settings) sampler() (sdk.Sampler, error) {
	switch strings.ToLower(strings.TrimSpace(s.Sampler)) {
	case "", "always_on", "parentbased_always_on":
		return sdk.AlwaysSample(), nil
	case "always_off", "parentbased_always_off":
		return sdk.NeverSample(), nil
	case "traceidratio", "parentbased_traceidratio":
		arg := strings.TrimSpace(s.SamplerArg)
		if arg == "" {
			return sdk.AlwaysSample(), nil
		}
		part, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(part >= 0 && part <= 1) { // NaN is neither
			return nil, fmt.Errorf("read OTEL_TRACES_SAMPLER_ARG: %.40q is no part of all traces: set a number from 0 to 1, such as 0.1", arg)
		}
		return sdk.TraceIDRatioBased(part), nil
	}
	return nil, fmt.Errorf("read OTEL_TRACES_SAMPLER: %.40q is not known to nodefence: set always_on, always_off, traceidratio, or parentbased_ before one of these", s.Sampler)
}
