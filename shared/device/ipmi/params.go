package ipmi

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "ipmi",
		Params: []device.Param{
			{Name: "ip", Required: true, Machine: true, Doc: "address of the BMC"},
			{Name: "ipport", Machine: true, Default: "623", Doc: "UDP port of the BMC"},
			{Name: "username", Required: true, Doc: "user of the BMC"},
			{Name: "password", Required: true, Secret: true, Doc: "the user's password"},
			{Name: "cipher", Default: "3", Doc: "cipher suite: 3 or 17"},
			{Name: "privilege", Default: "operator", Doc: "operator or administrator"},
		},
		// BMCs answer at once and take up to some seconds to cut the power.
		EffectDelay: 10 * time.Second,
		Address:     address,
		Open:        open,
	}
}

// address is host:port with the port always there, in lower case. All that is
// no secret is checked with it, because it is asked for when a configuration is
// read; open is only called when the machine is down.
func address(p map[string]string) (string, error) {
	b, err := parse(p)
	if err != nil {
		return "", err
	}
	return b.address(), nil
}

func open(p map[string]string) (device.Driver, error) {
	b, err := parse(p)
	if err == nil {
		err = device.Given(p, "username", "password")
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

var privileges = map[string]types.PrivilegeLevel{
	"": types.PrivilegeLevelOperator, "operator": types.PrivilegeLevelOperator, "administrator": types.PrivilegeLevelAdministrator,
}

var ciphers = map[string]types.CipherSuiteID{
	"": types.CipherSuiteID3, "3": types.CipherSuiteID3, "17": types.CipherSuiteID17,
}

// maxUser is how long a user's name can be in IPMI.
const maxUser = 16

// parse takes all parameters, of which secret ones may be missing yet.
func parse(p map[string]string) (*bmc, error) {
	b := &bmc{user: p["username"], password: p["password"]}
	var err error
	if b.host, err = host.Name("ip", p["ip"]); err != nil {
		return nil, err
	}
	if b.port, err = host.Port("ipport", p["ipport"], 623); err != nil {
		return nil, err
	}
	var ok bool
	// Agents take the word in capitals as well.
	if b.privilege, ok = privileges[strings.ToLower(p["privilege"])]; !ok {
		return nil, fmt.Errorf("privilege %q is not operator or administrator", p["privilege"])
	}
	if b.cipher, ok = ciphers[p["cipher"]]; !ok {
		return nil, fmt.Errorf("cipher %q is not 3 or 17", p["cipher"])
	}
	if len(b.user) > maxUser {
		return nil, fmt.Errorf("username is longer than the %d bytes that IPMI has for it", maxUser)
	}
	return b, nil
}

func (b *bmc) address() string { return net.JoinHostPort(b.host, strconv.Itoa(b.port)) }
