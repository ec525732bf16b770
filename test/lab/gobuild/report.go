package gobuild

import (
	"fmt"
	"io"
	"time"
)

const progressPeriod = 10 * time.Second

// Report prints from time to time what takes so long, until the returned function is called.
func Report(w io.Writer, what string) (done func()) {
	begin := time.Now()
	fmt.Fprintln(w, what)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(progressPeriod)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "  still building, %s so far\n", time.Since(begin).Round(time.Second))
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
