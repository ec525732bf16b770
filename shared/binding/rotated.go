package binding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// CredentialsVersion is a digest of the UIDs and resourceVersions of all objects from which a
// device's account is read: the Secrets, and the ConfigMaps that bind the device. Nothing in them
// goes into it (S29: no secret is shown). It is empty for a binding that another project's object
// gives, whose Secrets that object names.
func (b Resolver) CredentialsVersion(ctx context.Context, bound *api.Binding) (string, error) {
	if bound.Adopted != nil {
		return "", nil
	}
	var all []string
	for _, at := range objectsOf(bound) {
		version, err := b.versionOf(ctx, at)
		if err != nil {
			return "", err
		}
		all = append(all, version)
	}
	if len(all) == 0 {
		return "", nil
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:16]), nil
}

// credentialSource is a Secret or a ConfigMap.
type credentialSource struct{ kind, name string }

// objectsOf are the objects from which the account of a device, or of the devices of a set, is
// read.
func objectsOf(bound *api.Binding) (all []credentialSource) {
	refs := slices.Clone(bound.SecretRefs)
	for _, m := range bound.Members {
		refs = append(refs, m.SecretRefs...)
	}
	for _, ref := range refs {
		all = append(all, credentialSource{string(ref.Kind), ref.Name})
	}
	for _, s := range bound.Sources {
		all = append(all, credentialSource{string(s.Kind), s.Name})
	}
	slices.SortFunc(all, func(x, y credentialSource) int { return strings.Compare(x.kind+"/"+x.name, y.kind+"/"+y.name) })
	return slices.Compact(all)
}

// versionOf is the version of one object; one that does not exist has none.
func (b Resolver) versionOf(ctx context.Context, at credentialSource) (string, error) {
	switch at.kind {
	case string(api.KindSecret):
		s, err := b.Client.Secret(ctx, b.SecretsNamespace, at.name)
		if err != nil || s == nil {
			return at.kind + "/" + at.name, err
		}
		return at.kind + "/" + at.name + " " + string(s.UID) + " " + s.ResourceVersion, nil
	case string(api.KindConfigMap):
		m, err := b.Client.ConfigMap(ctx, b.Namespace, at.name)
		if err != nil || m == nil {
			return at.kind + "/" + at.name, err
		}
		return at.kind + "/" + at.name + " " + string(m.UID) + " " + m.ResourceVersion, nil
	}
	return at.kind + "/" + at.name, nil
}
