// Package port finds ports for programs that are told where to listen.
//
// What a reader must not get wrong: a port that the kernel has just handed out and got back
// is the next one that it hands to another program. The ports here are below the kernel's
// range, so that no program is given one by chance before the caller's program listens on
// it.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	lowest, count = 20000, 12000 // Linux hands out from 32768 on
	tries         = 100
)

// Free is a TCP address of this machine on which nobody listens.
func Free() (addr string, err error) {
	for range tries {
		addr = candidate()
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}

// FreeUDP is a UDP port of this machine that nobody has.
func FreeUDP() (number int, err error) {
	for range tries {
		var c net.PacketConn
		if c, err = net.ListenPacket("udp4", candidate()); err == nil {
			return c.LocalAddr().(*net.UDPAddr).Port, c.Close()
		}
	}
	return 0, fmt.Errorf("find a free UDP port: %w", err)
}

func candidate() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(count))) }
