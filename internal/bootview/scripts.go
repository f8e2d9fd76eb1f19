package bootview

import (
	"errors"
	"strings"
)

// DefaultScriptParams is what the default script of a machine is made of.
type DefaultScriptParams struct {
	// BootURL is the base that the URLs below were made with, without a slash
	// at its end. Where they start with it, the script has a hole.
	BootURL string

	KernelURL   string // required
	InitrdURL   string // required
	SquashfsURL string // optional

	// KernelArgs are added to the kernel's command line as they are.
	KernelArgs string
	// Attempt is the boot that the script is for; its token is put into the
	// ignition URL while the attempt is open.
	Attempt Attempt
}

const (
	magic = "#!ipxe\n"

	// anyMachine identifies the machine that runs the script. A MAC goes with
	// hyphens, strings have to be escaped; netX is the interface that booted.
	anyMachine = "${uuid}?mac=${netX/mac:hexhyp}&serial=${serial:uristring}"

	liveArgs = " gl.ovl=/:tmpfs gl.url=${squashfs-url} gl.live=1"

	consoleArgs = " ignition.platform.id=metal console=ttyS0,115200 console=tty0" +
		" console=ttyAMA0 earlyprintk=ttyS0,115200 consoleblank=0"
)

// loadCommands ends the default script. EFI kernels look their initrd up by the
// name in "initrd=initrd", so it is given that name whatever its URL ends in.
//
// A failure is tried again after 2, 4, 8, 16 and 32 seconds; then the machine asks
// for its script anew, because what fails may have been replaced meanwhile. A pause
// never stands in the same line as the goto that it belongs to: "a || sleep 1 ||
// goto b" does not go to b, since sleep succeeds. The sleep has no "||" of its own
// either, so that Ctrl-C at the console gets a person out of the loop.
const loadCommands = ` || goto retry
initrd --name initrd ${initrd-url} || goto retry
boot || goto retry

:retry
echo Could not load the operating system, next try in ${pause} seconds
imgfree ||
sleep ${pause}
goto after-${pause}
:after-2
set pause 4
goto load
:after-4
set pause 8
goto load
:after-8
set pause 16
goto load
:after-16
set pause 32
goto load
:after-32
chain --replace --autofree ${ipxe-svc}/ipxe/` + anyMachine + ` || goto retry
`

// scriptRoom is what the default script needs beside what it is given.
const scriptRoom = 512 + len(loadCommands)

// DefaultScript loads kernel and initramfs and boots them, with the machine's
// ignition URL on the kernel's command line. It refuses values that would add a
// command; the error names the field.
func DefaultScript(p DefaultScriptParams) (Script, error) {
	if err := p.check(); err != nil {
		return Script{}, err
	}
	var b strings.Builder
	b.Grow(scriptRoom + len(p.KernelURL) + len(p.InitrdURL) + len(p.SquashfsURL) + len(p.KernelArgs))
	set := func(name, value string) { b.WriteString("set " + name + " " + value + "\n") }
	b.WriteString(magic)
	set("ipxe-svc", baseMark)
	set("kernel-url", urlTemplate(p.KernelURL, p.BootURL))
	set("initrd-url", urlTemplate(p.InitrdURL, p.BootURL))
	live := ""
	if p.SquashfsURL != "" {
		set("squashfs-url", urlTemplate(p.SquashfsURL, p.BootURL))
		live = liveArgs
	}
	set("pause", "2")
	b.WriteString("\n:load\nkernel ${kernel-url} initrd=initrd" + live +
		" ip=any ignition.firstboot=1 ignition.config.url=${ipxe-svc}/ignition/${uuid}")
	own := ""
	if p.Attempt.Open && p.Attempt.Token != "" {
		own = "?token=" + p.Attempt.Token
		b.WriteString(ownMark)
	}
	b.WriteString(consoleArgs)
	if args := strings.Join(strings.Fields(p.KernelArgs), " "); args != "" {
		b.WriteString(" " + args)
	}
	b.WriteString(loadCommands)
	return newTemplate(b.String(), own), nil
}

func (p DefaultScriptParams) check() error {
	var errs []error
	if p.KernelURL == "" {
		errs = append(errs, &ValueError{"kernelURL", "required"})
	}
	if p.InitrdURL == "" {
		errs = append(errs, &ValueError{"initrdURL", "required"})
	}
	errs = append(errs,
		CheckURL("kernelURL", p.KernelURL),
		CheckURL("initrdURL", p.InitrdURL),
		CheckURL("squashfsURL", p.SquashfsURL),
		CheckArguments("kernelArgs", p.KernelArgs),
		checkToken("token", p.Attempt.Token),
	)
	return errors.Join(errs...)
}

// ChainloadScript is what every machine gets first: it asks for the machine's own
// script by UUID, and by MAC and serial number for machines whose BMC knows no UUID.
//
// A boot server that has gone away in between, because it is being replaced, is waited for:
// two minutes where connections are refused, some fifteen where nothing answers at all and
// iPXE has to find that out each time. One that is there and gives no script means that: it is
// asked once more and the machine goes on to what its firmware boots next. What tells the two
// apart is whether it gives this script again, which is freed at once, lest it be loaded as
// an initramfs. The counter is set anew because settings outlive a script.
func ChainloadScript() Script { return chainloadScript }

const machineScript = "chain --replace --autofree ${base-url}/" + anyMachine

var chainloadScript = newTemplate(magic+"set ipxe-svc "+baseMark+`
set base-url ${ipxe-svc}/ipxe
set unanswered:int32 0
:ask
`+machineScript+` ||
imgfetch --name there ${base-url} && goto last ||
inc unanswered
iseq ${unanswered} 24 && goto last ||
echo The boot server does not answer, asking again in 5 seconds
sleep 5
goto ask
:last
imgfree there ||
`+machineScript+"\n", "")

// ExitScript hands the machine back to its firmware, which boots the disk: EFI goes
// on with its boot order when iPXE exits; a BIOS would start iPXE again, so the
// first disk (INT 13h drive 0x80) is booted from here.
func ExitScript() Script { return exitScript }

var exitScript = CustomScript([]byte(magic + `iseq ${platform} efi && goto efi || goto bios

:efi
exit

:bios
sanboot --no-describe --drive 0x80 || exit
`))
