package functions

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/kube"
)

// tellClocksApart logs and measures the difference between API servers' clocks.
func tellClocksApart(c *kube.Clock, log *slog.Logger, reg prometheus.Registerer) {
	c.OnApart(func(apart time.Duration) {
		log.Warn("the clocks of two API servers differ, or one was set; reservations are kept longer by the difference", "apart", apart.String())
	})
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodefence_apiserver_clocks_apart_seconds", Help: "The largest difference seen in the last hour or two between the clocks of API servers, or of one before and after it was set.",
	}, func() float64 { return c.ApartLately().Seconds() }))
}
