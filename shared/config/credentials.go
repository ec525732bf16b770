package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ErrAbsent: a secret is missing and is not required. An agent accepts several secrets, and
// most devices have one.
var ErrAbsent = errors.New("not given")

// Credentials are the parameters with their secrets, for the next call. They are not stored
// or shown (S29: no secret is shown).
func Credentials(b api.Binding, get func(api.SecretRef) (string, error)) (map[string]string, error) {
	out := maps.Clone(b.Params)
	if out == nil {
		out = map[string]string{}
	}
	for _, ref := range b.SecretRefs {
		v, err := get(ref)
		switch {
		case errors.Is(err, ErrAbsent):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		if err := CheckSecret(v); err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		out[ref.Parameter] = v
	}
	return out, nil
}

// CheckSecret refuses a value that nobody can have meant, without showing it.
func CheckSecret(v string) error {
	switch {
	case v == "":
		return errors.New("empty")
	case dirty(v):
		// Usually this is the line break of an echo, and then the value is not the
		// password.
		return errors.New("the value has control characters, or a line break at its end; write it with printf %s, or as stringData")
	}
	return nil
}

// Literal reads a secret that is in a ConfigMap, by the key of its SecretRef.
func Literal(m ConfigMap, key string) (string, error) {
	data, name, ok := strings.Cut(key, "/")
	text, there := m.Data[data]
	if !ok || !there {
		return "", &Error{ConfigMap: m.Name, Key: data, Msg: "missing"}
	}
	lines, err := parse(place{cm: m.Name, key: data}, text, norm)
	if err != nil {
		return "", err
	}
	e, ok := lines[norm(name)]
	if !ok {
		return "", &Error{ConfigMap: m.Name, Key: data, Msg: shown(norm(name)) + " is missing"}
	}
	return e.value, nil
}
