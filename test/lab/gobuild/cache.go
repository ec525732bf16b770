package gobuild

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Key names a build by everything that goes into it.
func Key(platform string, args []string, files ...string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n", platform, args)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("hash source: %w", err)
		}
		fmt.Fprintf(sum, "%s %x\n", filepath.Base(file), sha256.Sum256(content))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// Cache is the folder of the build with that key, within the folder of its kind.
func Cache(kind, key string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	dir := filepath.Join(base, "nodefence", kind, key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	return dir, nil
}
