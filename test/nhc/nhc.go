package nhc

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Check plays one NodeHealthCheck. It must not be copied after first use.
type Check struct {
	// Name is the object's.
	Name string
	// Own has the rights of the operator itself: to nodes, Leases and NodeHealthChecks.
	Own *rest.Config
	// Aggregated has the rights that remediators grant the operator, to their templates and objects,
	// and no other.
	Aggregated *rest.Config
	// Logf says what is done.
	Logf func(format string, args ...any)

	kube        kubernetes.Interface
	own         dynamic.Interface
	remediation dynamic.Interface

	mu sync.Mutex
	// begun and given are the times at which objects were first seen and given up, by node and
	// template.
	begun, given map[string]time.Time
	said         []string
}

// Run looks ten times a second until ctx ends.
func (c *Check) Run(ctx context.Context) (err error) {
	if c.kube, err = kubernetes.NewForConfig(c.Own); err != nil {
		return err
	}
	if c.own, err = dynamic.NewForConfig(c.Own); err != nil {
		return err
	}
	if c.remediation, err = dynamic.NewForConfig(c.Aggregated); err != nil {
		return err
	}
	c.begun, c.given = map[string]time.Time{}, map[string]time.Time{}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		// A conflict is with whoever has just written the object's status: the next look writes anew.
		if err := c.look(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			c.say("%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Said is what was done so far, each thing once in a row.
func (c *Check) Said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.said...)
}

func (c *Check) say(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.said); n == 0 || c.said[n-1] != words {
		c.said = append(c.said, words)
		c.Logf("%s", words)
	}
}

// look is one round.
func (c *Check) look(ctx context.Context) error {
	u, err := c.own.Resource(checks).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	is, err := read[check](u)
	if err != nil || len(is.Spec.PauseRequests) > 0 {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(&is.Spec.Selector)
	if err != nil {
		return err
	}
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return err
	}
	if err := c.orphans(ctx, is, nodes.Items); err != nil {
		return err
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		bad, soon := is.unhealthy(n, time.Now())
		switch {
		case bad && n.Labels[excluded] != "true":
			err = c.remediate(ctx, is, n)
		case !bad && !soon:
			err = c.healthy(ctx, is, n.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mine are the objects of a check, by the name of their template, that keep allows.
func (c *Check) mine(ctx context.Context, is *check, keep func(node string, o *unstructured.Unstructured) bool) (map[string]*unstructured.Unstructured, error) {
	all := map[string]*unstructured.Unstructured{}
	for _, s := range is.steps() {
		at, err := resource(s.RemediationTemplate, "")
		if err != nil {
			return nil, err
		}
		list, err := c.remediation.Resource(at).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			marks := o.GetAnnotations()
			if owns(is.UID, o) && marks[templateName] == s.RemediationTemplate.Name && keep(marks[nodeName], o) {
				all[s.RemediationTemplate.Name+"/"+marks[nodeName]] = o
			}
		}
	}
	return all, nil
}

// orphans deletes the objects of nodes that are gone.
func (c *Check) orphans(ctx context.Context, is *check, nodes []corev1.Node) error {
	there := map[string]bool{}
	for i := range nodes {
		there[nodes[i].Name] = true
	}
	gone, err := c.mine(ctx, is, func(node string, o *unstructured.Unstructured) bool {
		waits := says(o, "PermanentNodeDeletionExpected") == "True" && says(o, "Succeeded") != "True"
		return !there[node] && o.GetDeletionTimestamp() == nil && !waits
	})
	if err != nil {
		return err
	}
	for _, o := range gone {
		if err := c.letGo(ctx, o.GetAnnotations()[nodeName]); err != nil {
			return err
		}
	}
	return c.remove(ctx, is, gone, "its node is gone")
}

// healthy deletes the objects of a node, and then gives its Lease up.
func (c *Check) healthy(ctx context.Context, is *check, node string) error {
	left, err := c.mine(ctx, is, func(n string, _ *unstructured.Unstructured) bool { return n == node })
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return c.remove(ctx, is, left, "its node is healthy")
	}
	for _, s := range is.steps() {
		delete(c.begun, node+"/"+s.RemediationTemplate.Name)
		delete(c.given, node+"/"+s.RemediationTemplate.Name)
	}
	return c.letGo(ctx, node)
}

func (c *Check) remove(ctx context.Context, is *check, all map[string]*unstructured.Unstructured, why string) error {
	for _, s := range is.steps() {
		at, err := resource(s.RemediationTemplate, "")
		if err != nil {
			return err
		}
		for key, o := range all {
			if o.GetDeletionTimestamp() != nil || key != s.RemediationTemplate.Name+"/"+o.GetAnnotations()[nodeName] {
				continue
			}
			if err := c.remediation.Resource(at).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			c.say("deleted that of %s by %s: %s", o.GetAnnotations()[nodeName], s.RemediationTemplate.Name, why)
		}
	}
	return nil
}
