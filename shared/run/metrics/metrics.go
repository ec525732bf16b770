// Package metrics registers what each program of nodefence tells about itself.
//
// What a reader must not get wrong: no program decides by a metric.
package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/buildinfo"
)

// NewRegistry returns a registry with nodefence_build_info.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	Register(reg)
	return reg
}

// Register registers the metric nodefence_build_info.
func Register(reg prometheus.Registerer) {
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "nodefence_build_info", Help: "1, with the version of nodefence and the version of Go by which the program was built.",
	}, []string{"version", "goversion"})
	built.WithLabelValues(buildinfo.Version(), runtime.Version()).Set(1)
	reg.MustRegister(built)
}
