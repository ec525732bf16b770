package ipmi

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
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
			{Name: "cipher", Default: "3", Doc: "cipher suite: 3 or 17; no other authenticates and encrypts"},
			{Name: "privilege", Default: "operator", Doc: "operator or administrator"},
		},
		// BMCs answer at once and take up to some seconds to cut the power.
		EffectDelay: 10 * time.Second,
		Address:     address,
		Hosts:       host.In("ip"),
		Open:        open,
	}
}

// address is host:port, always with the port, in lower case. All parameters that are not
// secret are checked here, because the address is asked for when a configuration is read;
// open is only called when the machine is down.
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

// privilege is a level, by IPMI's number for it.
type privilege struct {
	name  string
	level byte
}

var privileges = map[string]privilege{
	"": {"operator", 3}, "operator": {"operator", 3}, "administrator": {"administrator", 4},
}

var suites = map[string]wire.Suite{"": wire.Suite3, "3": wire.Suite3, "17": wire.Suite17}

// The longest user name and password in IPMI.
const (
	maxUser     = 16
	maxPassword = 20
)

// parse reads all parameters; secret ones may still be missing.
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
	// Agents accept the word in capitals too.
	if b.privilege, ok = privileges[strings.ToLower(p["privilege"])]; !ok {
		return nil, fmt.Errorf("privilege %q is not operator or administrator", p["privilege"])
	}
	if b.suite, ok = suites[p["cipher"]]; !ok {
		return nil, fmt.Errorf("cipher %q is not 3 or 17: set cipher to 3, or to 17 where the BMC has it; "+
			"no other cipher suite both authenticates and encrypts what the BMC says", p["cipher"])
	}
	if len(b.user) > maxUser {
		return nil, fmt.Errorf("username is longer than the %d bytes that IPMI has for it", maxUser)
	}
	if len(b.password) > maxPassword {
		return nil, fmt.Errorf("password is longer than the %d bytes that IPMI has for it", maxPassword)
	}
	return b, nil
}

func (b *bmc) address() string { return net.JoinHostPort(b.host, strconv.Itoa(b.port)) }
