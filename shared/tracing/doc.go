// Package tracing records each invocation as a span of OpenTelemetry, one trace for each fence, and
// sends the spans to a collector by OTLP. It is off unless the environment names a collector.
//
// A fence lasts through many invocations of many processes, waits for hours, and goes on after every
// one of these processes has died. So nothing remembers its trace: the trace's ID, and that of the
// span over the whole fence, follow from which fence it is (ids.go), and every process comes to the
// same ones. Which invocation led to which is in the events: CloudEvents' extension traceparent names
// the span that sent the event. The span over the whole fence is sent by the invocation that ends it.
//
// What a reader must not get wrong: no fence waits for a span, and no program decides by one. A span
// that the collector does not take, or for which there is no room, is dropped and counted.
package tracing
