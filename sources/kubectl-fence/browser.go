package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// startProgram starts another program, and does not wait for it.
func startProgram(name string, args ...string) error { return exec.Command(name, args...).Start() }

// openBrowser opens an invitation in this machine's browser. That it can't is no error: the address is
// printed. The browser is led there by a file that only this user can read, because every user of the
// machine sees its command line. What it returns removes the file.
func (p *program) openBrowser(url string) (forget func()) {
	file, err := leadingTo(url)
	forget = func() {
		if file != "" {
			_ = os.RemoveAll(filepath.Dir(file)) // the token in it is spent, or ends with this program
		}
	}
	if err == nil {
		name, args := "xdg-open", []string{file}
		switch runtime.GOOS {
		case "darwin":
			name = "open"
		case "windows":
			name, args = "rundll32", []string{"url.dll,FileProtocolHandler", file}
		}
		err = p.start(name, args...)
	}
	if err != nil {
		forget()
		fmt.Fprintf(p.ErrOut, "no browser could be opened: %v\n", err)
	}
	return forget
}

// leadingTo writes a page that leads to an address, alone in a folder that only this user can enter.
func leadingTo(url string) (string, error) {
	dir, err := os.MkdirTemp("", "kubectl-fence-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "open.html")
	page := fmt.Sprintf(`<!doctype html><html lang="en"><title>nodefence</title><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=%s"></html>`+"\n", html.EscapeString(url))
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return file, nil
}
