package ec2

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/nodefence/nodefence/shared/device"
)

// PlainHTTP is how requests are sent, with another way to connect.
var PlainHTTP = plainHTTP

// KindsOver are both drivers with another way to send requests.
func KindsOver(sender aws.HTTPClient) (power, network device.Kind) {
	own := &account{sender: sender}
	power, network = Kind(), NetworkKind()
	power.Open = func(p map[string]string) (device.Driver, error) { return open(p, own) }
	network.Open = func(p map[string]string) (device.Driver, error) {
		n, err := parseNetwork(p)
		if err == nil {
			err = n.identify(p, own)
		}
		return n, err
	}
	return power, network
}
