package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/policy"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestOpenUntil: from says when a window opens, until when it ends. It is shut a
// minute before, open from its first moment to its last, and shut at its end.
func TestOpenUntil(t *testing.T) {
	const berlin = "Europe/Berlin"
	for name, c := range map[string]struct {
		window      api.PauseWindowRule
		from, until string
	}{
		"every day, in UTC unless set":                  {fencetest.Window("22:00", time.Hour, ""), "2026-05-01T22:00Z", "2026-05-01T23:00Z"},
		"over midnight":                                 {fencetest.Window("22:00", 8*time.Hour, "UTC"), "2026-05-01T22:00Z", "2026-05-02T06:00Z"},
		"over midnight, on one day":                     {fencetest.Window("22:00", 8*time.Hour, "UTC", "Saturday"), "2026-05-02T22:00Z", "2026-05-03T06:00Z"},
		"over the year's end":                           {fencetest.Window("23:30", time.Hour, "UTC", "Thursday"), "2026-12-31T23:30Z", "2027-01-01T00:30Z"},
		"a day that is another one in UTC":              {fencetest.Window("01:00", time.Hour, "Asia/Tokyo", "Saturday"), "2026-05-01T16:00Z", "2026-05-01T17:00Z"},
		"a whole weekend":                               {fencetest.Window("00:00", 48*time.Hour, berlin, "Saturday"), "2026-05-01T22:00Z", "2026-05-03T22:00Z"},
		"the longest":                                   {fencetest.Window("12:00", 144*time.Hour, "UTC", "Monday"), "2026-05-04T12:00Z", "2026-05-10T12:00Z"},
		"half an hour from UTC":                         {fencetest.Window("10:00", time.Hour, "Asia/Kolkata"), "2026-05-01T04:30Z", "2026-05-01T05:30Z"},
		"far east of UTC":                               {fencetest.Window("00:30", time.Hour, "Pacific/Kiritimati", "Sunday"), "2026-05-02T10:30Z", "2026-05-02T11:30Z"},
		"in summer":                                     {fencetest.Window("12:00", time.Hour, berlin), "2026-07-01T10:00Z", "2026-07-01T11:00Z"},
		"in winter":                                     {fencetest.Window("12:00", time.Hour, berlin), "2026-12-01T11:00Z", "2026-12-01T12:00Z"},
		"clocks go forward meanwhile":                   {fencetest.Window("22:00", 8*time.Hour, berlin, "Saturday"), "2026-03-28T21:00Z", "2026-03-29T05:00Z"},
		"clocks go back meanwhile":                      {fencetest.Window("22:00", 8*time.Hour, berlin, "Saturday"), "2026-10-24T20:00Z", "2026-10-25T04:00Z"},
		"clocks skip its start":                         {fencetest.Window("02:30", time.Hour, berlin, "Sunday"), "2026-03-29T01:00Z", "2026-03-29T02:00Z"},
		"clocks show its start twice":                   {fencetest.Window("02:30", time.Hour, berlin, "Sunday"), "2026-10-25T00:30Z", "2026-10-25T02:30Z"},
		"clocks skip its start, west":                   {fencetest.Window("02:00", time.Hour, "America/New_York", "Sunday"), "2026-03-08T07:00Z", "2026-03-08T08:00Z"},
		"clocks show its start twice, west":             {fencetest.Window("01:00", time.Hour, "America/New_York", "Sunday"), "2026-11-01T05:00Z", "2026-11-01T07:00Z"},
		"clocks are set by half an hour":                {fencetest.Window("02:15", time.Hour, "Australia/Lord_Howe", "Sunday"), "2026-10-03T15:30Z", "2026-10-03T16:30Z"},
		"a day that there never was: what was to start": {fencetest.Window("12:00", time.Hour, "Pacific/Apia", "Friday"), "2011-12-30T10:00Z", "2011-12-30T11:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			from, until := moment(t, c.from), moment(t, c.until)
			got := map[string]string{}
			for what, at := range map[string]time.Time{
				"a minute before": from.Add(-time.Minute), "first": from, "last": until.Add(-time.Nanosecond), "at its end": until,
			} {
				got[what] = ""
				if c := policy.Closed([]policy.Windows{{Policy: "p", Windows: []api.PauseWindowRule{c.window}}}, fencetest.ZonesOf(t, *c.window.TimeZone), at); c != nil {
					got[what] = c.Until.UTC().Format("2006-01-02T15:04Z07:00")
				}
			}
			want := map[string]string{"a minute before": "", "first": c.until, "last": c.until, "at its end": ""}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestClosed: the windows of all policies hold, and the end is that of the last of
// those that follow on one another.
func TestClosed(t *testing.T) {
	firmware := fencetest.Window("22:00", 2*time.Hour, "")
	firmware.Reason = "firmware"
	for name, c := range map[string]struct {
		all     []policy.Windows
		why     api.Reason
		message string
	}{
		"no windows":   {},
		"none is open": {all: []policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("22:00", time.Hour, "", "Sunday")}}}},
		"one is, of another policy": {
			[]policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("01:00", time.Hour, "")}}, {"q", []api.PauseWindowRule{firmware}}},
			api.PauseWindow, "pause window of policy q (firmware): no fence begins until 2026-05-02T00:00:00Z"},
		"two are, and the longer holds": {
			[]policy.Windows{{"p", []api.PauseWindowRule{firmware}}, {"q", []api.PauseWindowRule{fencetest.Window("21:00", 5*time.Hour, "")}}},
			api.PauseWindow, "pause window of policy q: no fence begins until 2026-05-02T02:00:00Z"},
		"another follows": {
			[]policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("00:00", time.Hour, "", "Saturday"), firmware}}},
			api.PauseWindow, "pause window of policy p (firmware): no fence begins until 2026-05-02T01:00:00Z"},
		"they follow on one another for ever": {
			[]policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("00:00", 12*time.Hour, ""), fencetest.Window("12:00", 12*time.Hour, "")}}},
			api.PauseWindow, "pause window of policy p: no fence begins until 2026-05-16T00:00:00Z"},
		"a zone that is not known": {
			[]policy.Windows{{"p", []api.PauseWindowRule{firmware}}, {"q", []api.PauseWindowRule{fencetest.Window("01:00", time.Hour, ""), fencetest.Window("01:00", time.Hour, "Mars/Base")}}},
			api.PauseWindowInvalid, `policy q, pauseWindows[1]: time zone "Mars/Base" is not known: use a name of the IANA database, such as Europe/Berlin; no fence begins until that is corrected`},
		"the machine's own zone": {
			[]policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("01:00", time.Hour, "Local")}}},
			api.PauseWindowInvalid, `policy p, pauseWindows[0]: time zone "Local" is not known: use a name of the IANA database, such as Europe/Berlin; no fence begins until that is corrected`},
		"a time that there is not": {
			[]policy.Windows{{"p", []api.PauseWindowRule{fencetest.Window("25:00", time.Hour, "")}}},
			api.PauseWindowInvalid, `policy p, pauseWindows[0]: start "25:00" is no time of day: write HH:MM; no fence begins until that is corrected`},
	} {
		t.Run(name, func(t *testing.T) {
			var why api.Reason
			var message string
			if c := policy.Closed(c.all, nil, moment(t, "2026-05-01T22:30Z")); c != nil {
				why, message = c.Why, c.Message
			}
			if d := cmp.Diff([]string{string(c.why), c.message}, []string{string(why), message}); d != "" {
				t.Error(d)
			}
		})
	}
}
