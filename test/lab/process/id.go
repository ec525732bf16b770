package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ID names one process for ever, also after its PID has been reused.
type ID struct {
	PID int `json:"pid"`
	// StartTicks is when it began, in clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
	BootID     string `json:"bootID"`
}

// Identify returns the ID of a process that runs now.
func Identify(pid int) (ID, error) {
	stat, err := readStat(pid)
	if err != nil {
		return ID{}, err
	}
	boot, err := bootID()
	if err != nil {
		return ID{}, err
	}
	return ID{PID: pid, StartTicks: stat.startTicks, BootID: boot}, nil
}

// Alive says if exactly this process still runs. A zombie doesn't: where nobody
// reaps orphans, as in many containers, it would otherwise live for ever.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	stat, err := readStat(id.PID)
	if err != nil || stat.startTicks != id.StartTicks || stat.gone() {
		return false
	}
	boot, err := bootID()
	return err == nil && boot == id.BootID
}

type stat struct {
	state      byte
	startTicks uint64
}

func (s stat) gone() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	s, err := parseStat(raw)
	if err != nil {
		return stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return s, nil
}

// parseStat looks for the last ")": the second field is the executable's name
// in parentheses, and that may hold spaces and parentheses itself.
func parseStat(raw []byte) (stat, error) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return stat{}, errors.New("parse stat: no name in it")
	}
	// What follows begins with the third field; the start time is the 22nd.
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 20 {
		return stat{}, errors.New("parse stat: too few fields")
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse stat: %w", err)
	}
	return stat{state: fields[0][0], startTicks: ticks}, nil
}

func bootID() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot ID: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}
