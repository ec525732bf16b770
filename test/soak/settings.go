package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// settings are the choices of a run.
type settings struct {
	nodes  int
	length time.Duration
	seed   uint64
	// settle is how long after its fault, or the last one of all, a fence may take to end.
	settle time.Duration
	// growth is how many times as much nodefence-local may use at the end as at the start.
	growth float64
	// most is how many nodes may be unwell at once, and concurrent the policy's maxConcurrent.
	// The latter is half of the former, so that fences have to wait for each other.
	most, concurrent int
}

// known are the settings that exist.
var known = []string{"SOAK_NODES", "SOAK_FOR", "SOAK_SEED", "SOAK_SETTLE", "SOAK_GROWTH"}

// settingsOf reads the settings from the environment, and refuses them as a whole.
func settingsOf(environ []string) (s settings, err error) {
	given, errs := map[string]string{}, make([]error, 6)
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, "SOAK_") {
			given[name] = value
		}
		if strings.HasPrefix(name, "SOAK_") && !slices.Contains(known, name) {
			errs[0] = errors.Join(errs[0], fmt.Errorf("%s is no setting: write one of %s", name, strings.Join(known, ", ")))
		}
	}
	s.nodes, errs[1] = whole(given, "SOAK_NODES", 200, 10, 1000)
	s.length, errs[2] = long(given, "SOAK_FOR", time.Hour, 2*time.Minute, 7*24*time.Hour)
	s.settle, errs[3] = long(given, "SOAK_SETTLE", 10*time.Minute, time.Minute, time.Hour)
	s.seed, errs[4] = seedOf(given)
	s.growth, errs[5] = ratio(given, "SOAK_GROWTH", 1.5, 1.05, 10)
	s.most = min(s.nodes*3/10, 20)
	s.concurrent = max(2, s.most/2)
	return s, errors.Join(errs...)
}

// whole reads a whole number.
func whole(given map[string]string, setting string, otherwise, least, most int) (int, error) {
	text, set := given[setting]
	if !set {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s has %q: write a whole number from %d to %d, such as %d", setting, text, least, most, otherwise)
	}
	return n, nil
}

// long reads a time.
func long(given map[string]string, setting string, otherwise, least, most time.Duration) (time.Duration, error) {
	text, set := given[setting]
	if !set {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%s has %q: write a time from %s to %s, such as %s", setting, text, plain(least), plain(most), plain(otherwise))
	}
	return d, nil
}

// plain is a time without the parts that are zero: 10m, and not 10m0s.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ratio reads a ratio.
func ratio(given map[string]string, setting string, otherwise, least, most float64) (float64, error) {
	text, set := given[setting]
	if !set {
		return otherwise, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= least && f <= most) {
		return 0, fmt.Errorf("%s has %q: write a number from %g to %g, such as %g", setting, text, least, most, otherwise)
	}
	return f, nil
}

// seedOf reads the seed, or draws one.
func seedOf(given map[string]string) (uint64, error) {
	text, set := given["SOAK_SEED"]
	if !set {
		return uint64(rand.Uint32()), nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("SOAK_SEED has %q: write a whole number, such as the one that another run has printed", text)
	}
	return n, nil
}

// small labs can renew Leases as often as tests do; larger ones would take the whole machine.
func (s settings) small() bool { return s.nodes <= 50 }

// labFlags are for `nodefence-lab up`. A pause of the API server (longestPause) and a renewal or
// a report are shorter together than the grace period: else every node would be lost at once.
func (s settings) labFlags() []string {
	if s.small() {
		return []string{"--lease", "2s", "--status-period", "5s", "--grace", "16s", "--outlets=false"}
	}
	return []string{"--lease", "5s", "--status-period", "10s", "--grace", "40s", "--outlets=false"}
}

// policy lets all that fail be fenced, concurrent at a time.
func (s settings) policy() string {
	still := 12 * time.Second
	if !s.small() {
		still = 15 * time.Second
	}
	return fmt.Sprintf(`
earlyProbe: {leaseStillDuration: %s}
power: {offTimeout: 15s, attempts: 5, retryInterval: 1s, restarts: 100}
release: {timeout: 2m}
recovery: {bootTimeout: 5m, readyDuration: 0s}
limits: {maxUnhealthy: "60%%", maxConcurrent: %d, stormCoolDown: 0s, perNode: {cutsPerDay: 100}}
`, still, s.concurrent)
}

// pods is how many the StatefulSet has.
func (s settings) pods() int { return max(4, s.nodes/3) }

// work is a StatefulSet that is spread over the nodes.
func (s settings) work() string {
	return strings.Replace(rig.StatefulSet("db", s.pods()), "      containers:", `      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}
      containers:`, 1)
}
