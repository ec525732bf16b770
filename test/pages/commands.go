package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Command is one program that a block has a shell start.
type Command struct {
	Block Block
	// Args are its words, as the program gets them; the first names the program, without its folder.
	Args []string
}

// String is the command as it may be typed.
func (c Command) String() string { return strings.Join(c.Args, " ") }

// noProgram has a bash that can find no program say which one it was to start, and answer what a
// page's commands need of its output.
const noProgram = `
command_not_found_handle() {
	local said="$block" word
	for word; do said+=$'\x1f'"$word"; done
	printf '%s\x1e' "${said//$'\n'/$'\x1d'}" >&3 # bash writes each line by itself, and another command between
	case "$*" in
		uuidgen) echo 3f0c9a52-7d5e-4b6a-9c35-0d1f2a3b4c5d ;;
		date*) echo 2026-01-01T00:00:00Z ;;
		*whoami*) echo anna ;;
		*status.storms*|*status.restored*) echo 2026-01-01T00:00:00.000000Z ;;
		*"create token"*) echo token ;;
	esac
}
`

// folder is where make build puts the programs.
var folder = regexp.MustCompile(`\bbin/(nodefence|kubectl-fence)`)

// Commands are the commands of the blocks of one page for a shell. None is started: bash reads the
// blocks, and finds no program. A later block may use what an earlier one has set.
func Commands(ctx context.Context, blocks []Block) ([]Command, error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	var script strings.Builder
	script.WriteString(noProgram)
	for i, b := range blocks {
		fmt.Fprintf(&script, "block=%d\n%s\n", i, folder.ReplaceAllString(b.Text, "$1"))
	}
	file, err := os.CreateTemp("", "commands")
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = file.Close(), os.Remove(file.Name()) }()
	var problems bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile")
	cmd.Env, cmd.Dir = []string{"PATH=/nowhere"}, os.TempDir()
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = strings.NewReader(script.String()), &problems, []*os.File{file}
	if err := cmd.Run(); err != nil || problems.Len() > 0 {
		return nil, fmt.Errorf("a shell does not take the commands of %s: %w: %s", blocks[0].Page, err, problems.String())
	}
	said, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, err
	}
	return heard(blocks, string(said))
}

// heard are the commands that the shell has said.
func heard(blocks []Block, said string) ([]Command, error) {
	var out []Command
	for text := range strings.SplitSeq(said, "\x1e") {
		words := strings.Split(strings.ReplaceAll(text, "\x1d", "\n"), "\x1f")
		if len(words) < 2 {
			continue
		}
		n, err := strconv.Atoi(words[0])
		if err != nil {
			return nil, fmt.Errorf("read what the shell said of %s: %w", blocks[0].Page, err)
		}
		out = append(out, Command{Block: blocks[n], Args: words[1:]})
	}
	return out, nil
}

// Shells are the blocks for a shell, by page.
func Shells(all []Block) map[string][]Block {
	by := map[string][]Block{}
	for _, b := range all {
		if b.Class() == Shell {
			by[b.Page] = append(by[b.Page], b)
		}
	}
	return by
}

// Started are the commands that the units among the blocks have systemd start.
func Started(all []Block) (commands []Command) {
	for _, b := range all {
		if b.Class() != Unit {
			continue
		}
		for l := range strings.Lines(b.Text) {
			if line, is := strings.CutPrefix(l, "ExecStart="); is {
				args := strings.Fields(line)
				args[0] = path.Base(args[0])
				commands = append(commands, Command{Block: b, Args: args})
			}
		}
	}
	return commands
}
