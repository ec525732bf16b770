package host

import (
	"errors"
	"net/url"
	"strings"
)

// In is Hosts of a driver that speaks with the one host that a parameter names.
func In(param string) func(map[string]string) ([]string, error) {
	return func(p map[string]string) ([]string, error) {
		h, err := Name(param, p[param])
		return []string{h}, err
	}
}

// Of are the hosts of URLs, in the spelling of Name. A URL that is wrong is not shown:
// it may hold a credential (S29).
func Of(urls ...string) ([]string, error) {
	var out []string
	for _, s := range urls {
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("a URL has no host")
		}
		h, err := Name("the host of a URL", u.Hostname())
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// Single tells whether a text is one part of a host's name, and nothing that would
// make another host of a URL that it is put into.
func Single(s string) bool {
	return canBeLookedUp("x"+s) && !strings.Contains(s, ".")
}
