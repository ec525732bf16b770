package run

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

func TestTheLogIsJSONWhoeverWritesIt(t *testing.T) {
	var b bytes.Buffer
	log := NewLog(&b, slog.LevelInfo)
	t.Cleanup(klog.ClearLogger)
	log.Debug("not asked for")
	log.Info("ours", "node", "a")
	klog.InfoS("client-go's", "lock", "nodefence-system/nodefence-source")
	klog.Warningf("client-go's, %s", "in its old way")
	var got []string
	d := json.NewDecoder(&b)
	for {
		var line struct{ Level, Msg, Node, Lock, From string }
		if err := d.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Level+" "+line.From+": "+line.Msg+line.Node+line.Lock)
	}
	if d := cmp.Diff([]string{
		"INFO : oursa", "INFO client-go: client-go'snodefence-system/nodefence-source", "INFO client-go: client-go's, in its old way",
	}, got); d != "" {
		t.Error(d)
	}
}
