package ipxe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// steppingClock passes the time of every timer at once.
type steppingClock struct{ *testclock.FakeClock }

func newSteppingClock() steppingClock {
	return steppingClock{testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))}
}

func (c steppingClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	c.Step(d)
	return timer
}

// site answers each URL with its answers in turn, the last one for ever. An
// answer is the text of a script, "binary", a status ("404"), or a status with
// Retry-After ("503 7").
type site map[string][]string

func (s site) Fetch(_ context.Context, url string, _ Role) (File, error) {
	answers := s[url]
	if len(answers) == 0 {
		return File{}, &StatusError{Code: 404}
	}
	answer := answers[0]
	if len(answers) > 1 {
		s[url] = answers[1:]
	}
	var code, seconds int
	switch n, _ := fmt.Sscanf(answer, "%d %d", &code, &seconds); n {
	case 2:
		return File{}, &StatusError{Code: code, Retry: true, RetryAfter: time.Duration(seconds) * time.Second}
	case 1:
		return File{}, &StatusError{Code: code}
	}
	if IsScript([]byte(answer)) {
		return File{Script: []byte(answer)}, nil
	}
	return File{}, nil
}

func machine() Settings {
	mac := MAC([]byte{0x02, 0xfa, 0x45, 0, 0, 0x0a})
	return Settings{
		"mac": mac, "net0/mac": mac, "serial": String("SN 1/2"), "buildarch": String("x86_64"), "platform": String("efi"),
		"ip":   IPv4(netip.MustParseAddr("127.64.128.1")),
		"uuid": UUID([16]byte{0x4c, 0x4c, 0x45, 0x44, 0, 0x43, 0x35, 0x10, 0x80, 0x52, 0xb7, 0xc0, 0x4f, 0x4e, 0x4d, 0x32}),
	}
}

const start = "http://boot/ipxe/"

// run executes a script at start and returns the trace, console lines included.
func run(t *testing.T, s site, change func(*Options)) (Result, []string, error) {
	t.Helper()
	var trace []string
	opts := Options{
		Fetcher: s, Clock: newSteppingClock(), Settings: machine(),
		Console: func(line string) { trace = append(trace, "> "+line) },
		Trace:   func(line string) { trace = append(trace, line) },
	}
	if change != nil {
		change(&opts)
	}
	result, err := Run(t.Context(), opts, start)
	return result, trace, err
}

// console runs a script of the given lines and returns what it echoes.
func console(t *testing.T, lines ...string) ([]string, error) {
	t.Helper()
	_, trace, err := run(t, site{start: {"#!ipxe\n" + strings.Join(lines, "\n")}}, nil)
	var out []string
	for _, line := range trace {
		if text, ok := strings.CutPrefix(line, "> "); ok {
			out = append(out, text)
		}
	}
	return out, err
}

func TestBootTrace(t *testing.T) {
	const uuid = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	result, trace, err := run(t, site{
		start: {"503 7", `#!ipxe
set ipxe-svc http://boot
set base-url ${ipxe-svc}/ipxe
chain --replace --autofree ${base-url}/${uuid}?mac=${mac:hexhyp}&serial=${serial:uristring} || goto gone
:gone
echo never`},
		"http://boot/ipxe/" + uuid + "?mac=02-fa-45-00-00-0a&serial=SN%201%2F2": {`#!ipxe
# the machine's own script
set kernel-url /image?layerDigest=sha256:aa
set initrd-url ../image?layerDigest=sha256:bb
:retry
kernel ${kernel-url} initrd=initrd ip=any \
  ignition.config.url=http://boot/ignition/${uuid} || goto wait
initrd --name initrd ${initrd-url} || goto wait
boot || goto wait
:wait
inc pause 2
sleep ${pause}
goto retry`},
		"http://boot/image?layerDigest=sha256:aa": {"500", "binary"},
		"http://boot/image?layerDigest=sha256:bb": {"binary"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Outcome: Booted,
		Kernel: Image{
			Name: "image", URL: "http://boot/image?layerDigest=sha256:aa",
			Args: "initrd=initrd ip=any ignition.config.url=http://boot/ignition/" + uuid,
		},
		Initrds: []Image{{Name: "initrd", URL: "http://boot/image?layerDigest=sha256:bb"}},
	}
	if diff := cmp.Diff(want, result, cmpopts.IgnoreUnexported(Image{})); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	kernel := "$ kernel /image?layerDigest=sha256:aa initrd=initrd ip=any ignition.config.url=http://boot/ignition/" + uuid
	wantTrace := []string{
		"  sleep 7s",
		"  script http://boot/ipxe/",
		"$ set ipxe-svc http://boot",
		"$ set base-url http://boot/ipxe",
		"$ chain --replace --autofree http://boot/ipxe/" + uuid + "?mac=02-fa-45-00-00-0a&serial=SN%201%2F2",
		"  script http://boot/ipxe/" + uuid + "?mac=02-fa-45-00-00-0a&serial=SN%201%2F2",
		"$ set kernel-url /image?layerDigest=sha256:aa",
		"$ set initrd-url ../image?layerDigest=sha256:bb",
		kernel,
		"  kernel: http://boot/image?layerDigest=sha256:aa: HTTP 500 Internal Server Error",
		"$ goto wait",
		"$ inc pause 2",
		"$ sleep 2",
		"  sleep 2s",
		"$ goto retry",
		kernel,
		"  kernel http://boot/image?layerDigest=sha256:aa",
		"$ initrd --name initrd ../image?layerDigest=sha256:bb",
		"  initrd http://boot/image?layerDigest=sha256:bb",
		"$ boot",
	}
	if diff := cmp.Diff(wantTrace, trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestLanguage(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		want  []string
	}{
		"comments":                      {[]string{"# no", "echo a # b", "echo http://x#y", "#", "echo c #"}, []string{"a", "http://x#y", "c"}},
		"white space":                   {[]string{"  \techo   a    b  ", "", "\r"}, []string{"a b"}},
		"no quoting":                    {[]string{`echo "a   b" 'c'`}, []string{`"a b" 'c'`}},
		"echo -n":                       {[]string{"echo -n a"}, []string{"a"}},
		"line expanded before it runs":  {[]string{"set a 1", "set a 2 && echo ${a}", "echo ${a}"}, []string{"1", "2"}},
		"nested settings":               {[]string{"set arch x86_64", "set x86_64-url http://k", "echo ${${arch}-url}"}, []string{"http://k"}},
		"values are expanded again":     {[]string{"set dollar $", "set braces {b}", "set b deep", "echo ${dollar}${braces}"}, []string{"deep"}},
		"unknown setting":               {[]string{"echo <${nothing}>", "echo ${unclosed"}, []string{"<>", "${unclosed"}},
		"set joins words":               {[]string{"set a b  c", "echo ${a}"}, []string{"b c"}},
		"empty value is not set":        {[]string{"set a 1", "set a ${b}", "isset ${a} || echo gone"}, []string{"gone"}},
		"clear":                         {[]string{"set a 1", "clear a", "isset ${a} || echo gone", "clear a"}, []string{"gone"}},
		"isset":                         {[]string{"isset ${mac} && echo yes ||"}, []string{"yes"}},
		"iseq":                          {[]string{"iseq ${platform} efi && echo efi ||", "iseq a b || echo differ", "iseq ${nothing} a || echo unset"}, []string{"efi", "differ", "unset"}},
		"success skips what is after":   {[]string{"echo a || echo b", "echo c"}, []string{"a", "c"}},
		"either or":                     {[]string{"false && echo a || echo b", "echo c && echo d || echo e"}, []string{"b", "c", "d"}},
		"a last || forgives":            {[]string{"false && echo a ||", "echo b"}, []string{"b"}},
		"trap of sleep before goto":     {[]string{"false || sleep 1 || goto end", "echo reached", ":end"}, []string{"reached"}},
		"always":                        {[]string{"false ; echo a"}, []string{"a"}},
		"goto":                          {[]string{"goto b", ":a", "echo a", "exit", ":b", "echo b", "goto a"}, []string{"b", "a"}},
		"goto drops the rest of a line": {[]string{"goto a && echo no", ":a"}, nil},
		"label with a command":          {[]string{"goto a", "echo no", ":a\techo yes"}, []string{"yes"}},
		"first of two labels":           {[]string{"goto a", ":a echo first", "exit", ":a echo second"}, []string{"first"}},
		"unknown label":                 {[]string{"goto a || echo no such"}, []string{"no such"}},
		"unknown command":               {[]string{"menu || echo no menus"}, []string{"no menus"}},
		"integers":                      {[]string{"set n:int32 1", "inc n", "inc n 5", "echo ${n} ${n:uint8}"}, []string{"7 0x07"}},
		"text is no integer":            {[]string{"set n 1", "inc n", "echo ${n}"}, []string{"50"}},
		"types":                         {[]string{"echo ${mac} ${mac:hexraw} ${net0/mac:hexhyp} ${uuid} ${ip} ${platform:hex} ${serial:uristring} ${serial:base64}"}, []string{"02:fa:45:00:00:0a 02fa4500000a 02-fa-45-00-00-0a 4c4c4544-0043-3510-8052-b7c04f4e4d32 127.64.128.1 65:66:69 SN%201%2F2 U04gMS8y"}},
		"unfitting and unknown types":   {[]string{"echo <${platform:uuid}${mac:ip}${mac:colour}>"}, []string{"<>"}},
		"set with a type":               {[]string{"set a:hex 02:0f", "set b:uristring a%20b", "set c:ipv4 10.0.0.1", "echo ${a} ${b:string} ${c} ${c:hex}"}, []string{"02:0f a b 10.0.0.1 0a:00:00:01"}},
		"set with an unfitting value":   {[]string{"set a:hex zz || echo no", "set a:colour b || echo no"}, []string{"no", "no"}},
		"the network is up":             {[]string{"ifopen net0 && dhcp net0 && echo up"}, []string{"up"}},
		"exit ends":                     {[]string{"exit 0", "echo no"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := console(t, tc.lines...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("console (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"a failing line ends the script":     {"false", "line 2: false: command not found"},
		"&& skips the rest of the line":      {"false && echo a && echo b", "line 2: false"},
		"exit with a status":                 {"exit 3", "exit: status 3"},
		"boot of nothing":                    {"boot", "boot: no such image"},
		"no URL":                             {"kernel", "kernel: wrong arguments"},
		"unknown option":                     {"chain --colour http://x", `option "--colour"`},
		"option without value":               {"initrd --name", `option "--name"`},
		"timeout that is no number":          {"chain --timeout soon http://x", `option "--timeout"`},
		"scheme":                             {"kernel tftp://boot/k", "only http and https"},
		"URL that does not parse":            {"kernel http://[", "URL"},
		"not found":                          {"kernel /nothing", "http://boot/nothing: HTTP 404 Not Found"},
		"sleep":                              {"sleep soon", "sleep: wrong arguments"},
		"imgfree of nothing":                 {"imgfree x", `"x": no such image`},
		"no script may pause longer than it": {"sleep 999999", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := console(t, tc.line)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	for line, want := range map[string]Outcome{
		"exit":                               Exited,
		"echo the end":                       Exited,
		"sanboot --no-describe --drive 0x80": Disk,
		"shell || exit":                      Shell,
		"reboot":                             Reboot,
		"poweroff":                           PowerOff,
		"chain /efi/ipxe.efi quiet":          Booted,
		"kernel /efi/ipxe.efi\nboot":         Booted,
	} {
		result, _, err := run(t, site{start: {"#!ipxe\n" + line}, "http://boot/efi/ipxe.efi": {"binary"}}, nil)
		if err != nil || result.Outcome != want {
			t.Errorf("%q: %q, %v; want %q", line, result.Outcome, err, want)
		}
	}
}

func TestChain(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second string
		want          []string
		fails         bool
	}{
		"returns":                         {"chain second\necho back", "#!ipxe\necho in", []string{"in", "back"}, false},
		"exit returns":                    {"chain second && echo back", "#!ipxe\nexit\necho no", []string{"back"}, false},
		"failure is caught":               {"chain second || echo caught", "#!ipxe\nfalse", []string{"caught"}, false},
		"exit status is caught":           {"chain second || echo caught", "#!ipxe\nexit 1", []string{"caught"}, false},
		"replace does not return":         {"chain --replace second\necho no", "#!ipxe\necho in", []string{"in"}, false},
		"replace is not caught":           {"chain --replace second || echo no", "#!ipxe\nfalse", nil, true},
		"failed download is caught":       {"chain --replace third || echo caught", "#!ipxe\n", []string{"caught"}, false},
		"labels are of one script":        {"chain second || goto end\n:end echo end", "#!ipxe\ngoto end", []string{"end"}, false},
		"settings are shared":             {"chain second\necho ${a}", "#!ipxe\nset a 1", []string{"1"}, false},
		"images are shared, boot returns": {"chain second\nboot", "#!ipxe\nkernel /k", nil, false},
		"a script can be the kernel":      {"kernel second\nboot\necho back", "#!ipxe\necho in", []string{"in", "back"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, trace, err := run(t, site{
				start: {"#!ipxe\n" + tc.first}, "http://boot/ipxe/second": {tc.second}, "http://boot/k": {"binary"},
			}, nil)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, line := range trace {
				if text, ok := strings.CutPrefix(line, "> "); ok {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("console (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	result, _, err := run(t, site{start: {`#!ipxe
kernel /old old
imgfree
kernel --name linux /k first
initrd --name=one /1
initrd /dir/two arg
initrd /3
imgfree 3
imgargs linux last args
boot linux`}, "http://boot/old": {"b"}, "http://boot/k": {"b"}, "http://boot/1": {"b"}, "http://boot/dir/two": {"b"}, "http://boot/3": {"b"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Outcome: Booted,
		Kernel:  Image{Name: "linux", URL: "http://boot/k", Args: "last args"},
		Initrds: []Image{{Name: "one", URL: "http://boot/1"}, {Name: "two", URL: "http://boot/dir/two", Args: "arg"}},
	}
	if diff := cmp.Diff(want, result, cmpopts.IgnoreUnexported(Image{})); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestRetryAfter: iPXE repeats what was answered with 503 and Retry-After however often, here for as long as a boot may take.
func TestRetryAfter(t *testing.T) {
	_, trace, err := run(t, site{start: {"503 60"}}, func(o *Options) { o.MaxTime = time.Hour })
	if err == nil || !strings.Contains(err.Error(), "still in a script after 1h0m0s") || len(trace) != 61 {
		t.Errorf("error %v after %d pauses", err, len(trace))
	}
	if _, trace, err := run(t, site{start: {"503"}}, nil); err == nil || len(trace) != 0 {
		t.Errorf("without Retry-After: error %v, trace %q", err, trace)
	}
}

func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		script, want string
		change       func(*Options)
	}{
		"steps":              {":a goto a || echo never", "more than 100 lines", func(o *Options) { o.MaxSteps = 100 }},
		"time":               {":a\nsleep 10 && goto a", "still in a script after 1m0s", func(o *Options) { o.MaxTime = time.Minute }},
		"depth":              {"chain . || echo never", "chained inside each other", nil},
		"replacing for ever": {"chain --replace .", "more than 100 lines", func(o *Options) { o.MaxSteps = 100 }},
		"expansion":          {"set a ${a}${a}xx\necho ${b} || echo caught", "", nil},
		"endless expansion":  {"set a:uristring %24%7Ba:string%7D\necho ${a:string}", "expansions", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, trace, err := run(t, site{start: {"#!ipxe\n" + tc.script}}, tc.change)
			if tc.want == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			for _, line := range trace {
				if line == "> never" {
					t.Error("a limit was caught by ||")
				}
			}
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{Fetcher: site{start: {"#!ipxe\n:a goto a"}}, Clock: newSteppingClock()}, start)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestNoScript(t *testing.T) {
	for _, content := range []string{"binary", " #!ipxe", "#!ipxes\n", "#!/bin/sh"} {
		if _, _, err := run(t, site{start: {content}}, nil); err == nil || !strings.Contains(err.Error(), "no script") {
			t.Errorf("%q: error %v", content, err)
		}
	}
}

func FuzzRun(f *testing.F) {
	f.Add("set a b\necho ${a:hex} && chain --replace x || goto y\n:y boot")
	f.Add(":a inc ${b:int8} ${c\\\ngoto a;#")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = Run(context.Background(), Options{
			Fetcher: site{start: {"#!ipxe\n" + text}}, Clock: newSteppingClock(), Settings: machine(), MaxSteps: 200,
		}, start)
	})
}
