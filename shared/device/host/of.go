package host

import (
	"errors"
	"net/url"
	"strings"
)

// In is Hosts for a driver that calls the one host that a parameter names.
func In(param string) func(map[string]string) ([]string, error) {
	return func(p map[string]string) ([]string, error) {
		h, err := Name(param, p[param])
		return []string{h}, err
	}
}

// Of returns the hosts of URLs, in the spelling of Name. An invalid URL is not shown: it
// may contain a credential (S29: no secret is shown).
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

// Single reports whether a text is one part of a host's name, and can't make a URL point to
// another host.
func Single(s string) bool {
	return canBeLookedUp("x"+s) && !strings.Contains(s, ".")
}
