//go:build linux

package binding

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/test/rig/port"
)

// TestAnObjectWithAnAgent: fence_apc_snmp, as Debian has it, switches the outlet that an object names,
// with the community of the object's Secret.
func TestAnObjectWithAnAgent(t *testing.T) {
	agenttest.NeedPDU(t)
	udp := port.UDP(t)
	dir := agenttest.PDU(t, udp)
	is := &others{
		objects: []far.Object{object("a", fmt.Sprintf(`{"agent":"fence_apc_snmp","sharedparameters":{"--ip":"127.0.0.1","--ipport":"%d","--snmp-version":"2c","--shell-timeout":"2","--login-timeout":"1"},
			"nodeparameters":{"--plug":{"a":"1","b":"2"}},"nodeSecretNames":{"a":"pdu"}}`, udp))},
		secrets: map[string]map[string]string{"pdu": {"--community": "hunter-2"}},
	}
	b := is.resolver(t)
	b.AgentsDir = "/usr/sbin"
	bound, err := b.Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Open(t.Context(), &bound.Devices[0])
	if err != nil {
		t.Fatal(err)
	}
	var r device.Reading
	for end := time.Now().Add(time.Minute); r.Power == device.Unknown && time.Now().Before(end); { // the server is still starting
		r, err = d.State(t.Context())
	}
	if err != nil || r.Power != device.On {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := d.Off(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := d.State(t.Context()); err != nil || r.Power != device.Off {
		t.Errorf("%+v, %v", r, err)
	}
	if told, err := os.ReadFile(filepath.Join(dir, "told")); string(told) != "1=2\n" || err != nil {
		t.Errorf("the PDU was told %q, %v", told, err)
	}
}
