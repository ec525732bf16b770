// Package bundle makes nodefence's OLM bundle of the objects of overlay deployments: a
// ClusterServiceVersion with the Deployments and rights, the kinds, and what else OLM installs.
//
// OLM installs no Namespace, no admission policy, no object of Knative, no NetworkPolicy and no
// quota, and no Role in another namespace than its own. These are the rest, a manifest that is
// applied before the bundle is installed.
//
// What a reader must not get wrong: nothing is dropped. Each object is in the bundle or in the rest
// (TestNothingIsDropped).
package bundle
