package bmc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFault(t *testing.T) {
	for text, tc := range map[string]struct{ want, wantErr string }{
		"none":        {want: "none"},
		"slow":        {want: "slow=6s"},
		"slow=1500ms": {want: "slow=1.5s"},
		"early":       {want: "early=3s"},
		"refuse":      {want: "refuse=0xd5"},
		"refuse=0xD4": {want: "refuse=0xd4"},
		"hang":        {want: "hang"},
		"slow=-1s":    {wantErr: "not a delay"},
		"slow=soon":   {wantErr: "not a delay"},
		"refuse=0":    {wantErr: "not a completion code"},
		"refuse=256":  {wantErr: "not a completion code"},
		"hang=6s":     {wantErr: "takes no value"},
		"gone":        {wantErr: "use one of accept-and-ignore, conflict-when-off, early, hang, lie, none, refuse, reset-connection, slow, wrong-password"},
		"":            {wantErr: "unknown fault"},
	} {
		t.Run(text, func(t *testing.T) {
			f, err := parseFault(text)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, f.String()); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}
