package agenttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const pduConf = `agentAddress udp:127.0.0.1:%d
rwcommunity hunter-2
sysObjectID .1.3.6.1.4.1.318.1.3.4.5
pass .1.3.6.1.4.1.318.1.1.12 /bin/sh %s
`

// outlets answers a get, the next of a walk, and a set. There are outlets 1 and
// 2, each with a name, a state and a control.
const outlets = `cd "${0%/*}" || exit 1
at=.1.3.6.1.4.1.318.1.1.12.3
show() {
	case $1 in
	$at.5.1.1.2.[12]) echo "$1"; echo string; echo "outlet-${1##*.}" ;;
	$at.5.1.1.4.[12] | $at.3.1.1.4.[12]) echo "$1"; echo integer; cat "${1##*.}" ;;
	esac
}
case $1 in
-g) show "$2" ;;
-n)
	case $2 in
	$at.5.1.1.2) show $at.5.1.1.2.1 ;;
	$at.5.1.1.2.1) show $at.5.1.1.2.2 ;;
	$at.5.1.1.2.2) show $at.5.1.1.4.1 ;;
	esac
	;;
-s)
	echo "${2##*.}=$4" >>told
	if [ -e wire ] && ! /bin/sh ./wire "${2##*.}" "$4" >/dev/null; then
		echo not-writable
		exit
	fi
	echo "$4" >"${2##*.}"
	;;
esac
`

// NeedPDU skips a test where a program of Debian's is missing that PDU or fence_apc_snmp needs.
func NeedPDU(t testing.TB) {
	t.Helper()
	for _, p := range []string{"snmpd", "snmpget", "fence_apc_snmp"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is missing: apt-get install fence-agents snmp snmpd", p)
		}
	}
}

// PDU runs net-snmp's own server, with the outlets of an APC rack PDU, on a UDP port of loopback until
// the test ends. Its folder has a file for each outlet, and file told has what it was told. Its
// community is hunter-2. A script wire that a caller writes there is run with an outlet and its new
// state, 1 for on and 2 for off, before the outlet reads so. If it fails, the outlet stays as it is. The
// caller has looked that snmpd is there.
func PDU(t testing.TB, port int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"outlets": outlets, "1": "1\n", "2": "2\n", "told": "",
		"conf": fmt.Sprintf(pduConf, port, filepath.Join(dir, "outlets")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("snmpd", "-f", "-C", "-r", "-Ln", "-c", filepath.Join(dir, "conf"))
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error says that it was killed
	})
	return dir
}
