package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/test/rig"
)

// crash stops the machine's kernel and leaves its power on.
func crash(ctx context.Context, c *rig.Cluster, _ *rig.Process, s *story) error {
	if err := c.Lab.Node(s.victim, "crash"); err != nil {
		return err
	}
	say("%s: the kernel dies. The machine has power, and says nothing any more", s.victim)
	if err := c.Ready(ctx, s.victim, corev1.ConditionUnknown); err != nil {
		return err
	}
	s.unready = time.Now()
	s.what, s.lost = "the crash", "Kubernetes counts the node as lost (Ready=Unknown; this lab's grace is 8 s)"
	return nil
}

// believed is the rule that lets a source ask for fences without a token.
var believed = rig.Problems("racks", "{name: west, cloudEvent: {source: /racks/west, brokerIsClosed: true}, action: Fence}")

// request asks by an event, as curl would.
func request(ctx context.Context, c *rig.Cluster, p *rig.Process, s *story) error {
	say("%s is Ready. Its rack is about to lose its cooling, and the rack's own watch asks for a fence", s.victim)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Addr+"/", bytes.NewBufferString(`{"reason": "no cooling in rack west-4"}`))
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, believed); err != nil {
		return err
	}
	line := "  curl http://" + p.Addr
	for _, h := range [][2]string{
		{"ce-specversion", "1.0"}, {"ce-type", events.RequestFence}, {"ce-source", "/racks/west"}, {"ce-id", "west-4-overheats"},
		{"ce-subject", s.victim}, {"ce-time", time.Now().UTC().Format(time.RFC3339)}, {"content-type", "application/json"},
	} {
		req.Header.Set(h[0], h[1])
		line += fmt.Sprintf(" \\\n    -H '%s: %s'", h[0], h[1])
	}
	fmt.Println(line + " \\\n    -d '" + `{"reason": "no cooling in rack west-4"}` + "'")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the event was answered with %s", r.Status)
	}
	if err := c.Ready(ctx, s.victim, corev1.ConditionUnknown); err != nil {
		return err
	}
	s.unready = time.Now()
	s.what, s.lost = "the request", "the node is marked Ready=Unknown: by nodefence, which has proven it off by then"
	return nil
}

// whoami is the name by which the demo signs in to the API server.
func whoami(ctx context.Context, c *rig.Cluster) (string, error) {
	r, err := c.Kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return r.Status.UserInfo.Username, nil
}
