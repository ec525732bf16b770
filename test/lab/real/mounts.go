package real

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// temporary is a machine's folder for temporary files: this machine's own would keep them after a power loss.
const temporary = "/run/tmp"

// VolumesFolder is the path of the shared folder on each machine.
const VolumesFolder = "/var/lib/volumes"

// disks are the folders of a machine that survive a power loss, with their paths on the machine.
var disks = []struct{ folder, at string }{
	{"kubelet", "/var/lib/kubelet"}, {"containerd", "/var/lib/containerd"}, {"cni", "/var/lib/cni"}, {"logs", "/var/log/pods"},
}

// mountAll gives the machine its file systems. Nothing of these is seen outside of its mount namespace, and nothing is
// written to this machine's own folders.
func mountAll(b Boot) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from this machine's mounts: %w", err)
	}
	// A copy of these mounts would keep the network of a machine that is switched off.
	_ = syscall.Unmount(netnsFolder, syscall.MNT_DETACH) // or there is none
	groups, err := listHierarchies()                     // before /sys is another
	if err != nil {
		return err
	}
	if err := mountSystem(b, groups); err != nil {
		return err
	}
	for _, at := range []string{"/run", "/var/lib", "/var/log"} {
		if err := coverFolder(at, filepath.Dir(b.Images), filepath.Dir(b.Self), filepath.Dir(b.Programs)); err != nil {
			return err
		}
	}
	if err := mountEtc(b); err != nil {
		return err
	}
	for _, disk := range disks {
		if err := bindFolder(filepath.Join(b.Folder, disk.folder), disk.at); err != nil {
			return err
		}
	}
	if err := bindFolder(b.Volumes, VolumesFolder); err != nil {
		return err
	}
	// Volumes that the kubelet mounts have to be seen in containers.
	if err := syscall.Mount("", "/var/lib/kubelet", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the kubelet's mounts: %w", err)
	}
	return errors.Join(os.MkdirAll(temporary, 0o777), os.MkdirAll("/run/lock", 0o755), os.MkdirAll("/var/log/containers", 0o755), overrideFiles(b))
}

// mountSystem makes /proc and /sys those of the machine's namespaces. A cgroup hierarchy that is mounted in a cgroup
// namespace shows the machine's own cgroup as its root.
func mountSystem(b Boot, groups []hierarchy) error {
	if err := errors.Join(mountFolder("proc", "/proc", "proc", ""), mountFolder("sysfs", "/sys", "sysfs", ""), mountFolder("tmpfs", "/sys/fs/cgroup", "tmpfs", "mode=755")); err != nil {
		return err
	}
	for _, h := range groups {
		options := strings.Join(h.controllers, ",")
		if strings.HasPrefix(options, "name=") {
			options = "none," + options
		}
		if err := mountFolder("cgroup", filepath.Join("/sys/fs/cgroup", filepath.Base(h.mount)), "cgroup", options); err != nil {
			return err
		}
	}
	return mountFirmware(b)
}

// mountFirmware shows the machine's UUID where a kernel with SMBIOS does. The other classes of /sys/class stay: they
// are links to a second mount of /sys, because their own links are relative.
func mountFirmware(b Boot) error {
	classes, err := os.ReadDir("/sys/class")
	if err != nil {
		return fmt.Errorf("read /sys/class: %w", err)
	}
	if err := errors.Join(mountFolder("tmpfs", "/mnt", "tmpfs", "mode=755"), mountFolder("sysfs", "/mnt/sys", "sysfs", ""), mountFolder("tmpfs", "/sys/class", "tmpfs", "mode=755")); err != nil {
		return err
	}
	for _, class := range classes {
		if class.Name() == "dmi" {
			continue
		}
		if err := os.Symlink("/mnt/sys/class/"+class.Name(), "/sys/class/"+class.Name()); err != nil {
			return fmt.Errorf("link class of devices: %w", err)
		}
	}
	return writeFiles(map[string]string{"/sys/class/dmi/id/product_uuid": b.UUID + "\n"})
}

// mountEtc gives the machine an /etc of its own, over this machine's.
func mountEtc(b Boot) error {
	upper, work := "/run/etc/upper", "/run/etc/work"
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return fmt.Errorf("make /etc: %w", err)
	}
	if err := mountFolder("overlay", "/etc", "overlay", "lowerdir=/etc,upperdir="+upper+",workdir="+work); err != nil {
		return err
	}
	for _, file := range []string{"/etc/resolv.conf", "/etc/machine-id"} { // either may be a link into /run
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", file, err)
		}
	}
	return writeFiles(map[string]string{
		"/etc/hosts":       fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", b.Address, b.Node),
		"/etc/resolv.conf": "nameserver " + clusterDNS + "\n",
		"/etc/machine-id":  digestOf([]byte("machine-id of " + b.UUID))[:32] + "\n",
	})
}

// overrideFiles gives the machine a boot ID, and the kernel settings of a kubelet. The kubelet writes settings with
// other values, and this kernel's settings are not the machine's.
func overrideFiles(b Boot) error {
	for file, text := range map[string]string{
		"kernel/random/boot_id": b.BootID, "kernel/panic": "10", "kernel/panic_on_oops": "1", "vm/overcommit_memory": "1",
	} {
		own := "/run/sys/" + file
		if err := writeFiles(map[string]string{own: text + "\n"}); err != nil {
			return err
		}
		if err := syscall.Mount(own, "/proc/sys/"+file, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("override %s: %w", file, err)
		}
	}
	return nil
}

// coverFolder mounts an empty file system over a folder. The folders of keep stay visible below it.
func coverFolder(at string, keep ...string) error {
	const stage = "/mnt/stage"
	if err := mountFolder("tmpfs", stage, "tmpfs", "mode=755"); err != nil {
		return err
	}
	for _, folder := range keep {
		if strings.HasPrefix(folder, at+"/") {
			if err := bindFolder(folder, stage+strings.TrimPrefix(folder, at)); err != nil {
				return err
			}
		}
	}
	if err := syscall.Mount(stage, at, "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("cover %s: %w", at, err)
	}
	return nil
}

func mountFolder(source, at, kind, options string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	if err := syscall.Mount(source, at, kind, 0, options); err != nil {
		return fmt.Errorf("mount %s on %s (%s): %w", kind, at, options, err)
	}
	return nil
}

func bindFolder(folder, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	if err := syscall.Mount(folder, at, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", folder, at, err)
	}
	return nil
}
