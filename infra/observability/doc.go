// Package observability has no program: it holds the alerts, the dashboard and the README beside it
// to the metrics that nodefence's programs have.
package observability
