package bringup

import (
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*Options)
		wantErr bool
	}{
		"the defaults":                      {change: func(*Options) {}},
		"no nodes":                          {change: func(o *Options) { o.Nodes = 0 }},
		"upstream's own times":              {change: func(o *Options) { o.Lease, o.Grace = 10*time.Second, 50*time.Second }},
		"fewer nodes than none":             {change: func(o *Options) { o.Nodes = -1 }, wantErr: true},
		"no zone":                           {change: func(o *Options) { o.Zones = 0 }, wantErr: true},
		"a lease that is renewed all time":  {change: func(o *Options) { o.Lease = 0 }, wantErr: true},
		"a status all the time":             {change: func(o *Options) { o.Status = 0 }, wantErr: true},
		"less grace than two leases":        {change: func(o *Options) { o.Grace = 2*o.Lease - 1 }, wantErr: true},
		"real machines":                     {change: func(o *Options) { o.Real = true }},
		"no real machine":                   {change: func(o *Options) { o.Real, o.Nodes = true, 0 }, wantErr: true},
		"more real machines than addresses": {change: func(o *Options) { o.Real, o.Nodes = true, 51 }, wantErr: true},
		"eviction before the failure":       {change: func(o *Options) { o.Eviction = -1 }, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			tc.change(&o)
			if err := o.check(); (err != nil) != tc.wantErr {
				t.Errorf("error: %v", err)
			}
		})
	}
}

func TestMonitorPeriodIsSmallBesideTheGrace(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{
		4 * time.Second:  time.Second,
		8 * time.Second:  time.Second,
		16 * time.Second: 2 * time.Second,
		50 * time.Second: 5 * time.Second,
	} {
		if got := (Options{Grace: grace}).monitorPeriod(); got != want {
			t.Errorf("grace %s: %s, want %s", grace, got, want)
		}
	}
}
