package bootview

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/test/golden"
)

const (
	site  = "http://10.0.0.1:8082"
	image = site + "/image?imageName=ghcr.io%2Fironcore-dev%2Fos-images%2Fgardenlinux&layerDigest=sha256%3A"
)

func params(change func(*DefaultScriptParams)) DefaultScriptParams {
	p := DefaultScriptParams{
		BootURL:   site,
		KernelURL: image + strings.Repeat("a", 64) + "&version=1.0",
		InitrdURL: image + strings.Repeat("b", 64) + "&version=1.0",
	}
	if change != nil {
		change(&p)
	}
	return p
}

func withSquashfs(p *DefaultScriptParams) {
	p.SquashfsURL = image + strings.Repeat("c", 64) + "&version=1.0"
}

func TestGoldenScripts(t *testing.T) {
	for name, tc := range map[string]struct {
		params DefaultScriptParams
		base   string
	}{
		"default":          {params(nil), site},
		"squashfs":         {params(withSquashfs), site},
		"other-site":       {params(withSquashfs), "http://[2001:db8::1]:8082"},
		"elsewhere":        {params(func(p *DefaultScriptParams) { p.KernelURL = "http://10.0.0.1:80820/k" }), "http://site-b"},
		"open-attempt":     {params(func(p *DefaultScriptParams) { p.Attempt = Attempt{ID: "a1", Token: "t0k-_en", Open: true} }), site},
		"closed-attempt":   {params(func(p *DefaultScriptParams) { p.Attempt = Attempt{ID: "a1", Token: "t0k-_en"} }), site},
		"kernel-arguments": {params(func(p *DefaultScriptParams) { p.KernelArgs = " nosmt  mitigations=auto " }), site},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := DefaultScript(tc.params)
			if err != nil {
				t.Fatal(err)
			}
			checkScript(t, name, script, tc.base)
		})
	}
	t.Run("chainload", func(t *testing.T) { checkScript(t, "chainload", ChainloadScript(), site) })
	t.Run("exit", func(t *testing.T) { checkScript(t, "exit", ExitScript(), site) })
}

func checkScript(t *testing.T, name string, script Script, base string) {
	t.Helper()
	got := script.Render(base)
	if !bytes.HasPrefix(got, []byte("#!ipxe\n")) {
		t.Errorf("starts with %.10q, want #!ipxe", got)
	}
	if script.Len(base) != len(got) {
		t.Errorf("Len is %d, the script has %d bytes", script.Len(base), len(got))
	}
	golden.Equal(t, filepath.Join("testdata", name+".ipxe"), got)
}

func TestValuesThatMayNotEnterAScript(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*DefaultScriptParams)
		field  string
	}{
		"newline in a URL":       {func(p *DefaultScriptParams) { p.KernelURL += "\nshell" }, "kernelURL"},
		"carriage return":        {func(p *DefaultScriptParams) { p.InitrdURL += "\rshell" }, "initrdURL"},
		"escape":                 {func(p *DefaultScriptParams) { p.SquashfsURL = "http://x/\x1b[2J" }, "squashfsURL"},
		"C1 control character":   {func(p *DefaultScriptParams) { p.SquashfsURL = "http://x/\u0085" }, "squashfsURL"},
		"line separator":         {func(p *DefaultScriptParams) { p.SquashfsURL = "http://x/\u2028" }, "squashfsURL"},
		"not UTF-8":              {func(p *DefaultScriptParams) { p.KernelURL += "\xff" }, "kernelURL"},
		"space in a URL":         {func(p *DefaultScriptParams) { p.KernelURL += " || shell" }, "kernelURL"},
		"newline in arguments":   {func(p *DefaultScriptParams) { p.KernelArgs = "a\nshell" }, "kernelArgs"},
		"tab in arguments":       {func(p *DefaultScriptParams) { p.KernelArgs = "a\tb" }, "kernelArgs"},
		"command in arguments":   {func(p *DefaultScriptParams) { p.KernelArgs = "a || shell" }, "kernelArgs"},
		"token with a separator": {func(p *DefaultScriptParams) { p.Attempt = Attempt{ID: "a", Token: "x&y=z", Open: true} }, "token"},
		"no kernel":              {func(p *DefaultScriptParams) { p.KernelURL = "" }, "kernelURL"},
		"no initrd":              {func(p *DefaultScriptParams) { p.InitrdURL = "" }, "initrdURL"},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := DefaultScript(params(tc.change))
			var refused *ValueError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a ValueError", err)
			}
			if refused.Field != tc.field || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("error %q is about %s, want %s", err, refused.Field, tc.field)
			}
			if !script.IsZero() {
				t.Error("a script came with the error")
			}
		})
	}
}

func TestCustomScriptIsExact(t *testing.T) {
	for _, text := range []string{"#!ipxe\nshell", "no magic\r\n\x00\xff ${ipxe-svc}"} {
		if got := string(CustomScript([]byte(text)).Render(site)); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if !CustomScript(nil).IsZero() {
		t.Error("an empty custom script is a script")
	}
}

// TestRetryPauses runs the default script on a machine whose downloads all fail.
func TestRetryPauses(t *testing.T) {
	script, err := DefaultScript(params(nil))
	if err != nil {
		t.Fatal(err)
	}
	got := runFailing(t, string(script.Render(site)), 7)
	want := "kernel 2 kernel 4 kernel 8 kernel 16 kernel 32 chain 32 chain 32 chain"
	if got != want {
		t.Errorf("the machine did\n%s\nwant\n%s", got, want)
	}
}

// runFailing interprets the commands of the retry loop, kernel and chain
// failing, until the given number of pauses has passed; it returns what was tried and
// how long was slept.
func runFailing(t *testing.T, script string, pauses int) string {
	t.Helper()
	lines := strings.Split(script, "\n")
	pause, did := "", []string(nil)
	for at, steps := 0, 0; at < len(lines) && steps < 1000; at, steps = at+1, steps+1 {
		line := strings.ReplaceAll(lines[at], "${pause}", pause)
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		target := ""
		switch words[0] {
		case "set":
			if words[1] == "pause" {
				pause = words[2]
			}
		case "kernel", "chain":
			did = append(did, words[0])
			if pauses == 0 {
				return strings.Join(did, " ")
			}
			_, target, _ = strings.Cut(line, "|| goto ")
			if target == "" {
				t.Fatalf("line %d ends the script when it fails: %s", at+1, line)
			}
		case "sleep":
			did = append(did, words[1])
			pauses--
		case "goto":
			target = words[1]
		}
		if target != "" {
			for at = range lines {
				if lines[at] == ":"+target {
					break
				}
			}
		}
	}
	t.Fatalf("the script ended: %v", did)
	return ""
}

func TestScriptsOfOneImageShareText(t *testing.T) {
	a, _ := DefaultScript(params(withSquashfs))
	b, _ := DefaultScript(params(withSquashfs))
	if !a.Equal(b) {
		t.Fatal("two scripts of the same parameters differ")
	}
	if n := testing.AllocsPerRun(100, func() { a.Len(site) }); n != 0 {
		t.Errorf("Len: %v allocations", n)
	}
	buf := make([]byte, 0, a.Len(site))
	if n := testing.AllocsPerRun(100, func() { a.AppendTo(buf, site) }); n != 0 {
		t.Errorf("AppendTo: %v allocations", n)
	}
}
