// Package chart makes nodefence's Helm chart of the objects that infra's kustomizations say.
//
// The chart's own templates, in nodefence/, hold no object: they read each from files/, which Make
// fills, and change it by the values. So with the default values the chart says what the overlay
// says, and a field that is added to a manifest is in the chart too.
//
// What a reader must not get wrong: the kinds are templates, and not in Helm's folder crds/, which
// `helm upgrade` never upgrades. They and the namespaces are kept by `helm uninstall`: with them
// would go every record, binding and Secret.
package chart
