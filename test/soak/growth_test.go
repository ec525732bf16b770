package main

import (
	"strings"
	"testing"
	"time"
)

// series are samples 30 s apart with these goroutines, of processes that were started so often.
func series(starts int, goroutines ...int) (all []sample) {
	for i, n := range goroutines {
		at := time.Unix(0, 0).Add(time.Duration(starts)*time.Hour + time.Duration(i)*30*time.Second)
		all = append(all, sample{at: at, rss: n << 20, anon: n << 20, goroutines: n, starts: starts})
	}
	return all
}

// ramp is n numbers from the first to the last.
func ramp(n, first, last int) (all []int) {
	for i := range n {
		all = append(all, first+(last-first)*i/(n-1))
	}
	return all
}

// TestGrown: the longest stretch counts, its warm-up does not, and what grows is caught.
func TestGrown(t *testing.T) {
	warm := append(ramp(10, 10, 100), ramp(40, 100, 100)...)
	for name, c := range map[string]struct {
		samples []sample
		wrong   string
	}{
		"flat":                            {series(1, ramp(50, 100, 100)...), ""},
		"warm-up alone":                   {series(1, warm...), ""},
		"grows by less":                   {series(1, ramp(50, 100, 140)...), ""},
		"grows by more":                   {series(1, ramp(50, 100, 220)...), "grew 1.6"},
		"one peak at the end":             {series(1, append(ramp(49, 100, 100), 900)...), ""},
		"grows over a kill":               {append(series(1, ramp(30, 100, 100)...), series(2, ramp(40, 300, 300)...)...), ""},
		"grows in the longest stretch":    {append(series(1, ramp(30, 100, 100)...), series(2, ramp(50, 100, 220)...)...), "grew 1.6"},
		"grows in a shorter one":          {append(series(1, ramp(12, 100, 220)...), series(2, ramp(50, 100, 100)...)...), ""},
		"grows in a shorter one after it": {append(series(1, ramp(50, 100, 100)...), series(2, ramp(12, 100, 220)...)...), ""},
		"too few between the kills":       {append(series(1, ramp(9, 100, 100)...), series(2, ramp(9, 100, 100)...)...), "too few"},
		"none":                            {nil, "too few"},
		"shrinks, and that is no breach":  {series(1, ramp(50, 220, 100)...), ""},
	} {
		g, err := grown(c.samples)
		if err == nil {
			err = g.judge(1.5)
		}
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// TestJudgeNamesWhatGrew: memory, its anonymous part and goroutines are judged each by itself.
func TestJudgeNamesWhatGrew(t *testing.T) {
	for want, set := range map[string]func(*sample, int){
		"resident memory":      func(s *sample, n int) { s.rss = n << 20 },
		"anonymous memory":     func(s *sample, n int) { s.anon = n << 20 },
		"number of goroutines": func(s *sample, n int) { s.goroutines = n },
	} {
		all := series(1, ramp(50, 100, 100)...)
		for i, n := range ramp(50, 100, 220) {
			set(&all[i], n)
		}
		g, err := grown(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.judge(1.5); err == nil || !strings.HasPrefix(err.Error(), "the "+want) || strings.Count(err.Error(), "grew") != 1 {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestFigure reads what /proc and Prometheus write.
func TestFigure(t *testing.T) {
	for text, want := range map[string]int{
		"VmPeak:\t  9 kB\nVmRSS:\t   63000 kB\n":              63000 << 10,
		"# HELP VmRSS: x\nVmRSS: 7 kB\nVmRSS: 8 kB\n":         7 << 10,
		"# TYPE go_goroutines gauge\ngo_goroutines_other 3\n": 0,
	} {
		if n, err := figure(text, "VmRSS:", 1<<10); n != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if n, err := figure("# HELP go_goroutines x\ngo_goroutines 188\n", "go_goroutines ", 1); n != 188 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
