package bootview

import "testing"

func TestArtifactName(t *testing.T) {
	script, err := DefaultScript(params(func(p *DefaultScriptParams) {
		withSquashfs(p)
		p.KernelURL += "&layerDigest=sha256%3Aaaaa"
		p.InitrdURL += "&layerDigest=sha256%3Abbbb"
		p.SquashfsURL += "&layerDigest=sha256%3Acccc"
	}))
	if err != nil {
		t.Fatal(err)
	}
	custom := CustomScript([]byte("#!ipxe\n  kernel http://b/aaaa\ninitrd --name x http://b/bbbb\nset other-url http://b/dddd\necho cccc\nset\tkernel-url\n"))
	for _, c := range []struct {
		script     Script
		mark, want string
	}{
		{script, "aaaa", "kernel"}, {script, "bbbb", "initrd"}, {script, "cccc", "squashfs"}, {script, "dddd", ""}, {script, "", ""},
		{custom, "aaaa", "kernel"}, {custom, "bbbb", "initrd"}, {custom, "cccc", ""}, {custom, "dddd", ""}, {custom, "#!ipxe", ""},
		{Script{}, "aaaa", ""},
	} {
		m := &Machine{script: &entry{script: c.script}}
		if got := m.ArtifactName(c.mark); got != c.want {
			t.Errorf("%q: %q, want %q", c.mark, got, c.want)
		}
	}
	var nobody *Machine
	if got := nobody.ArtifactName("aaaa"); got != "" {
		t.Errorf("of nobody: %q", got)
	}
}
