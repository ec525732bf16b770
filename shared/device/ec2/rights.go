package ec2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/nodefence/nodefence/shared/device"
)

// trial is a request that EC2 judges and does not carry out (DryRun).
type trial struct {
	right string
	try   func(ctx context.Context, o func(*sdk.Options)) error
}

// dry is the parameter of every trial.
var dry = aws.Bool(true)

// errNotAWS is returned instead of sending a trial.
var errNotAWS = errors.New("rights are asked for at AWS's own address only: another API may carry out what is to be judged only")

// Lacking finds out by trials which rights the account lacks. A server that ignores DryRun
// would stop the machine (S2, S11). So trials are sent only to AWS's own host, and a trial
// of a change only after a trial of a read was seen not to be carried out.
func (i *instance) Lacking(ctx context.Context) ([]string, error) {
	c, err := i.connect(ctx)
	if err != nil {
		return nil, err
	}
	id := []string{i.id}
	return c.lacking(ctx, c.reading(), []trial{
		{"ec2:StartInstances", func(ctx context.Context, o func(*sdk.Options)) error {
			_, err := c.api.StartInstances(ctx, &sdk.StartInstancesInput{DryRun: dry, InstanceIds: id}, o)
			return err
		}},
		{"ec2:StopInstances", func(ctx context.Context, o func(*sdk.Options)) error {
			_, err := c.api.StopInstances(ctx, &sdk.StopInstancesInput{DryRun: dry, InstanceIds: id, Force: aws.Bool(true), SkipOsShutdown: aws.Bool(true)}, o)
			return err
		}},
	})
}

// Lacking does the same for the requests that isolate. The interface to name is known only
// if the account may read the instance.
func (n *network) Lacking(ctx context.Context) ([]string, error) {
	c, w, err := n.look(ctx)
	if err != nil && !errors.Is(err, device.ErrDenied) {
		return nil, err
	}
	if c == nil {
		return nil, err
	}
	tags := []types.Tag{{Key: aws.String(byTag), Value: aws.String(n.group)}}
	trials := []trial{
		{"ec2:CreateTags", func(ctx context.Context, o func(*sdk.Options)) error {
			_, err := c.api.CreateTags(ctx, &sdk.CreateTagsInput{DryRun: dry, Resources: []string{n.id}, Tags: tags}, o)
			return err
		}},
		{"ec2:DeleteTags", func(ctx context.Context, o func(*sdk.Options)) error {
			_, err := c.api.DeleteTags(ctx, &sdk.DeleteTagsInput{DryRun: dry, Resources: []string{n.id}, Tags: []types.Tag{{Key: aws.String(byTag)}}}, o)
			return err
		}},
	}
	for _, id := range slices.Sorted(maps.Keys(w.groups))[:min(1, len(w.groups))] {
		trials = append(trials, trial{"ec2:ModifyNetworkInterfaceAttribute", func(ctx context.Context, o func(*sdk.Options)) error {
			_, err := c.api.ModifyNetworkInterfaceAttribute(ctx, &sdk.ModifyNetworkInterfaceAttributeInput{DryRun: dry, NetworkInterfaceId: aws.String(id), Groups: []string{n.group}}, o)
			return err
		}})
	}
	return c.lacking(ctx, c.reading(), trials)
}

// reading changes nothing, also if it is carried out.
func (c *connection) reading() trial {
	return trial{"ec2:DescribeInstances", func(ctx context.Context, o func(*sdk.Options)) error {
		_, err := c.api.DescribeInstances(ctx, &sdk.DescribeInstancesInput{DryRun: dry, InstanceIds: []string{c.id}}, o)
		return err
	}}
}

func (c *connection) lacking(ctx context.Context, first trial, more []trial) ([]string, error) {
	lacks := []string{}
	for _, t := range append([]trial{first}, more...) {
		var no smithy.APIError
		err := t.try(ctx, c.onlyTrials)
		if err == nil {
			return nil, fmt.Errorf("%w: the API at the address of instance %s has carried out %s, which was to be judged only", device.ErrUnsupported, c.id, t.right)
		}
		switch errors.As(err, &no); {
		case errors.Is(err, errNotAWS):
			return nil, fmt.Errorf("%w: %w", device.ErrUnsupported, errNotAWS)
		case no != nil && no.ErrorCode() == "DryRunOperation":
		case no != nil && no.ErrorCode() == "UnauthorizedOperation":
			lacks = append(lacks, t.right)
		default:
			if err = c.explain(ctx, "ask for the right "+t.right+" on", err); !errors.Is(err, device.ErrConflict) {
				return nil, err
			}
			// It may be refused because of its state: then nothing is known about this
			// right.
		}
	}
	return lacks, nil
}

// onlyTrials holds back, as the last step before sending, every request that is no trial or
// goes to another host: AWS's environment variables and files may also name a host.
func (c *connection) onlyTrials(o *sdk.Options) {
	o.APIOptions = append(slices.Clone(o.APIOptions), func(s *middleware.Stack) error {
		return s.Finalize.Add(middleware.FinalizeMiddlewareFunc("onlyTrials", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			r, ok := in.Request.(*smithyhttp.Request)
			if !ok || !c.isTrial(r) {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, errNotAWS
			}
			return next.HandleFinalize(ctx, in)
		}), middleware.After)
	})
}

func (c *connection) isTrial(r *smithyhttp.Request) bool {
	stream := r.GetStream()
	if r.URL.Scheme != "https" || !ownHost(c.region, r.URL.Host) || r.Host != "" && r.Host != r.URL.Host || stream == nil {
		return false
	}
	body, err := io.ReadAll(stream)
	if err != nil || r.RewindStream() != nil {
		return false
	}
	form, err := url.ParseQuery(string(body))
	return err == nil && form.Get("DryRun") == "true"
}

// ownHost reports whether a host is EC2 itself, by the names that AWS's SDK has for it in
// this region, or an EC2 endpoint in a VPC. A URL with a port is not AWS's.
func ownHost(region, host string) bool {
	for _, fips := range []bool{false, true} {
		for _, dual := range []bool{false, true} {
			at, err := sdk.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(),
				sdk.EndpointParameters{Region: aws.String(region), UseFIPS: aws.Bool(fips), UseDualStack: aws.Bool(dual)})
			if err != nil {
				continue // the list has no host of that kind
			}
			tail, regional := strings.CutPrefix(at.URI.Host, "ec2."+region+".")
			if host == at.URI.Host || regional && strings.HasSuffix(host, ".ec2."+region+".vpce."+tail) {
				return true
			}
		}
	}
	return false
}
