package image

import (
	"fmt"
	"io/fs"

	"github.com/farrier-dev/farrier/hack/release/archive"
)

// User is whom programs run as, by number: Kubernetes refuses images without a number where runAsNonRoot is asked for.
const User = 65532

// dataDir is where `farrier up` and farrier-bootserver keep what has to last, unless they are told otherwise: XDG_DATA_HOME leads there.
const dataDir = "var/lib/farrier"

// base is everything but the program: whom public registries are verified by, who runs it, where it may write. There is no shell, no package manager and
// no library; programs are linked statically.
func base(license []byte) ([]archive.Entry, error) {
	authorities, err := roots()
	if err != nil {
		return nil, err
	}
	file := func(name, text string) archive.Entry {
		return archive.Entry{Name: name, Mode: 0o644, Content: []byte(text)}
	}
	return []archive.Entry{
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Content: authorities},
		file("etc/passwd", fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%[1]d:nonroot:/home/nonroot:/sbin/nologin\n", User)),
		file("etc/group", fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", User)),
		file("etc/nsswitch.conf", "hosts: files dns\n"),
		file("usr/share/doc/farrier/copyright", string(license)),
		{Name: "home/nonroot/", Mode: 0o700, Owner: User},
		{Name: dataDir + "/", Mode: 0o700, Owner: User},
		{Name: "tmp/", Mode: 0o777 | fs.ModeSticky},
	}, nil
}
