package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/cloudevents/sdk-go/v2/event"
)

// FunctionName is the placeholder for a function's name.
const FunctionName = "{function}"

// callTimeout bounds the SDK's tries together.
const callTimeout = 10 * time.Second

// Caller invokes functions.
type Caller struct {
	name   string
	client *lambda.Client
}

// New takes the name or ARN of all functions, with {function} in place of nodefence's name
// of each. The SDK's configuration (its environment, AWS_ENDPOINT_URL included) says where
// Lambda is.
func New(cfg aws.Config, name string) (*Caller, error) {
	switch {
	case !strings.Contains(name, FunctionName):
		return nil, fmt.Errorf("%q does not hold %s, which stands for the function's name", name, FunctionName)
	case cfg.Region == "":
		return nil, errors.New("no region, set AWS_REGION")
	}
	return &Caller{name: name, client: lambda.NewFromConfig(cfg)}, nil
}

// Call returns when Lambda has the event.
func (c *Caller) Call(ctx context.Context, function string, e event.Event) (*event.Event, error) {
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	payload, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name := strings.ReplaceAll(c.name, FunctionName, function)
	_, err = c.client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(name), InvocationType: types.InvocationTypeEvent, Payload: payload,
	})
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", name, err)
	}
	return nil, nil
}
