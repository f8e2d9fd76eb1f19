package ownership

import (
	"fmt"
	"io/fs"
	"os"
)

// groupRead is the bit that lets the group of a file read it.
const groupRead fs.FileMode = 0o040

// Key checks an open file that holds a private key. The rule is that of PostgreSQL for its TLS keys: the file belongs to us and is closed to
// everybody else, or it belongs to root, who may have let a group read it. The second is how Kubernetes mounts a Secret for an fsGroup, and
// how Debian keeps keys for its group ssl-cert.
func Key(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return checkKey(file.Name(), info.Mode(), ownerOf(info), os.Geteuid())
}

func checkKey(path string, mode fs.FileMode, owner, me int) error {
	open := mode.Perm() & others
	if owner == root {
		open &^= groupRead
	}
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	case owner != me && owner != root && owner >= 0:
		return fmt.Errorf("%s belongs to %s, who could replace it, and this process runs as %s: hand it over (chown %d %s)", path, Name(owner), Name(me), me, path)
	case open != 0 && owner == root && me != root:
		return fmt.Errorf("%s of root has mode %04o, and nobody but a group of this process may read it: run chmod 640 %s, or set fsGroup and defaultMode: 0440 for a mounted Secret; replace the key if anybody else had it",
			path, mode.Perm(), path)
	case open != 0:
		return fmt.Errorf("%s has mode %04o, and nobody but its owner may use it: run chmod 600 %s, or set defaultMode: 0400 for a mounted Secret; replace the key if anybody else had it",
			path, mode.Perm(), path)
	}
	return nil
}
