package nhc

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// whole is how long a template without a timeout is taken to last, and buffer what a Lease lasts
// longer than its template.
const whole, buffer = 10 * time.Minute, time.Minute

// remediate works on an unhealthy node by the first template that was not given up.
func (c *Check) remediate(ctx context.Context, is *check, n *corev1.Node) error {
	for _, s := range is.steps() {
		key := n.Name + "/" + s.RemediationTemplate.Name
		if !c.given[key].IsZero() {
			continue
		}
		lasts := s.Timeout.Duration
		if lasts == 0 {
			lasts = whole
		}
		if took, err := c.take(ctx, n.Name, lasts+buffer); err != nil || !took {
			return err
		}
		o, err := c.objectOf(ctx, is, n, s)
		if err != nil || o == nil || s.Timeout.Duration == 0 {
			return err
		}
		if c.begun[key].IsZero() {
			c.begun[key] = time.Now()
		}
		late := time.Since(c.begun[key]) > s.Timeout.Duration
		if failed := says(o, "Succeeded") == "False"; !failed && !late {
			return nil
		}
		if err := c.giveUp(ctx, s, o, n.Name, late); err != nil {
			return err
		}
		c.given[key] = time.Now()
	}
	c.say("no template is left for %s", n.Name)
	return nil
}

// objectOf is the object of a node by a template, which is created if it is not there.
func (c *Check) objectOf(ctx context.Context, is *check, n *corev1.Node, s step) (*unstructured.Unstructured, error) {
	there, err := c.mine(ctx, is, func(node string, _ *unstructured.Unstructured) bool { return node == n.Name })
	if o := there[s.RemediationTemplate.Name+"/"+n.Name]; err != nil || o != nil {
		return o, err
	}
	from, err := resource(s.RemediationTemplate, "template")
	if err != nil {
		return nil, err
	}
	at, err := resource(s.RemediationTemplate, "")
	if err != nil {
		return nil, err
	}
	template, err := c.remediation.Resource(from).Namespace(s.RemediationTemplate.Namespace).Get(ctx, s.RemediationTemplate.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	o, err := c.remediation.Resource(at).Namespace(template.GetNamespace()).Create(ctx, object(is, n, template), metav1.CreateOptions{})
	if err == nil {
		c.say("made that of %s by %s", n.Name, s.RemediationTemplate.Name)
	}
	return o, err
}

// giveUp tells an object's remediator to stop, unless it has succeeded.
func (c *Check) giveUp(ctx context.Context, s step, o *unstructured.Unstructured, node string, late bool) error {
	why := "it has failed"
	if late {
		why = "it took too long"
	}
	if says(o, "Succeeded") != "True" {
		at, err := resource(s.RemediationTemplate, "")
		if err != nil {
			return err
		}
		marks := o.GetAnnotations()
		marks[timedOut] = time.Now().UTC().Format(time.RFC3339)
		o.SetAnnotations(marks)
		if _, err := c.remediation.Resource(at).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	c.say("gave that of %s by %s up: %s", node, s.RemediationTemplate.Name, why)
	return nil
}

// take takes the Lease of a node, or keeps it, and tells whether it is the check's.
func (c *Check) take(ctx context.Context, node string, lasts time.Duration) (bool, error) {
	leases := c.kube.CoordinationV1().Leases(Leases)
	holder, seconds, now := "NodeHealthCheck-"+c.Name, int32(lasts/time.Second), metav1.NowMicro()
	l, err := leases.Get(ctx, "node-"+node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "node-" + node},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		}, metav1.CreateOptions{})
		return err == nil, err
	case err != nil:
		return false, err
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != holder:
		c.say("somebody else holds the Lease of %s", node)
		return false, nil
	case time.Since(l.Spec.RenewTime.Time) < lasts/2 && *l.Spec.LeaseDurationSeconds == seconds:
		return true, nil
	}
	l.Spec.LeaseDurationSeconds, l.Spec.RenewTime = &seconds, &now
	_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	return err == nil, err
}

// letGo deletes the Lease of a node, if it is the check's.
func (c *Check) letGo(ctx context.Context, node string) error {
	leases := c.kube.CoordinationV1().Leases(Leases)
	l, err := leases.Get(ctx, "node-"+node, metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != "NodeHealthCheck-"+c.Name {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return leases.Delete(ctx, l.Name, metav1.DeleteOptions{})
}
