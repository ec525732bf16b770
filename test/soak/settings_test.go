package main

import (
	"strings"
	"testing"
	"time"
)

// TestSettings: what is left out has a default, and the limits follow from the number of nodes.
func TestSettings(t *testing.T) {
	s, err := settingsOf([]string{"HOME=/root", "SOAK_SEED=4"})
	want := settings{nodes: 200, length: time.Hour, seed: 4, settle: 10 * time.Minute, growth: 1.5, most: 20, concurrent: 10}
	if err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = settingsOf([]string{"SOAK_NODES=20", "SOAK_FOR=4m", "SOAK_SETTLE=5m", "SOAK_GROWTH=2"}); err != nil || s.most != 6 || s.concurrent != 3 || s.length != 4*time.Minute || s.settle != 5*time.Minute || s.growth != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWrongSettings: an error says what is wrong and what to write.
func TestWrongSettings(t *testing.T) {
	for setting, wrong := range map[string]string{
		"SOAK_FOR=abc":    `SOAK_FOR has "abc": write a time from 2m to 168h, such as 1h`,
		"SOAK_FOR=1m":     `SOAK_FOR has "1m": write a time`,
		"SOAK_NODES=2":    `SOAK_NODES has "2": write a whole number from 10 to 1000, such as 200`,
		"SOAK_NODES=":     `SOAK_NODES has "": write a whole number`,
		"SOAK_SEED=-1":    `SOAK_SEED has "-1": write a whole number`,
		"SOAK_SETTLE=2h":  `SOAK_SETTLE has "2h": write a time from 1m to 1h, such as 10m`,
		"SOAK_GROWTH=1":   `SOAK_GROWTH has "1": write a number from 1.05 to 10, such as 1.5`,
		"SOAK_GROWTH=NaN": `SOAK_GROWTH has "NaN": write a number`,
		"SOAK_NODE=20":    `SOAK_NODE is no setting: write one of SOAK_NODES, `,
	} {
		if _, err := settingsOf([]string{setting}); err == nil || !strings.HasPrefix(err.Error(), wrong) {
			t.Errorf("%s: %v, want %s", setting, err, wrong)
		}
	}
	if _, err := settingsOf([]string{"SOAK_FOR=abc", "SOAK_NODES=2"}); err == nil || strings.Count(err.Error(), "write a") != 2 {
		t.Errorf("not all is said at once: %v", err)
	}
}
