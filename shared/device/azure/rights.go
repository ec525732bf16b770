package azure

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// needed are the rights on a machine that are needed to read and switch it.
var needed = []string{
	"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/instanceView/read",
	"Microsoft.Compute/virtualMachines/start/action", "Microsoft.Compute/virtualMachines/powerOff/action",
}

// permission is what one role allows, with * for any text.
type permission struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

func (p permission) allows(right string) bool {
	return matches(p.Actions, right) && !matches(p.NotActions, right)
}

func matches(all []string, right string) bool {
	return slices.ContainsFunc(all, func(a string) bool {
		re, err := regexp.Compile("(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(a), `\*`, ".*") + "$")
		return err == nil && re.MatchString(right)
	})
}

// permissions is the version of Resource Manager's authorization API; pages bounds how many
// pages of its answer are read.
const (
	permissions = "/providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
	pages       = 10
)

// Lacking asks Resource Manager what the account may do to the machine. The answer does not
// include what deny assignments and locks forbid.
func (m *machine) Lacking(ctx context.Context) (lacks []string, err error) {
	err = m.talk(ctx, func(ctx context.Context, c *conversation) error {
		roles, err := c.permissions(ctx)
		lacks = slices.DeleteFunc(slices.Clone(needed), func(right string) bool {
			return slices.ContainsFunc(roles, func(p permission) bool { return p.allows(right) })
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return lacks, nil
}

func (c *conversation) permissions(ctx context.Context) (all []permission, err error) {
	at := c.m.url() + permissions
	for range pages {
		var page struct {
			Value    []permission `json:"value"`
			NextLink string       `json:"nextLink"`
		}
		if _, err := c.Do(ctx, rest.Request{What: "ask for its rights", Method: http.MethodGet, URL: at}, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Value...); page.NextLink == "" {
			return all, nil
		}
		if at = page.NextLink; !strings.HasPrefix(at, c.m.endpoint+"/") { // the token goes only to the API's host
			return nil, c.Errorf(device.ErrUnsupported, "ask for its rights: the answer goes on at another host")
		}
	}
	return nil, c.Errorf(device.ErrUnsupported, "ask for its rights: the answer has more than %d pages", pages)
}
