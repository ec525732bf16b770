// Package bundle makes nodefence's OLM bundle of the objects of overlay deployments: a
// ClusterServiceVersion with the Deployments and the rights of their accounts in the whole cluster,
// and what else OLM installs.
//
// OLM installs no object of Knative, no NetworkPolicy and no quota. These are the rest, a manifest
// that is applied before the bundle is installed. Roles and RoleBindings are there too, because a
// Role's rules (permissions) OLM gives in each namespace that the OperatorGroup selects, here in all.
//
// The kinds, with their admission policies, and the Namespaces are files of their own, as on every
// way to install. The bundle must not own a kind: of each, OLM makes ClusterRoles that aggregate to
// Kubernetes' admin (with every verb, also decide and confirm) and edit (create, update, patch and
// delete).
//
// What a reader must not get wrong: nobody has more rights by OLM than by the overlay
// (TestOLMGivesNoFurtherRights), and nothing is dropped: each object of the overlay is in the bundle
// or in the rest (TestNothingIsDropped).
package bundle
