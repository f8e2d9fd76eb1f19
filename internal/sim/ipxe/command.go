package ipxe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	errUsage    = errors.New("wrong arguments")
	errFalse    = errors.New("not so")
	errNoImage  = errors.New("no such image")
	errNotFound = errors.New("command not found")
)

type handler func(r *runner, ctx context.Context, argv []string) error

// commands is a function, not a map: chain refers back to it by way of execute.
func commands(name string) handler {
	switch name {
	case "set":
		return (*runner).set
	case "clear":
		return (*runner).clear
	case "inc":
		return (*runner).inc
	case "isset":
		return (*runner).isset
	case "iseq":
		return (*runner).iseq
	case "echo":
		return (*runner).echo
	case "sleep":
		return (*runner).sleepCommand
	case "goto":
		return (*runner).gotoCommand
	case "exit":
		return (*runner).exit
	case "chain", "boot", "imgexec":
		return (*runner).chain
	case "kernel", "imgselect", "imgload":
		return (*runner).kernel
	case "initrd", "module":
		return (*runner).initrd
	case "imgfetch":
		return (*runner).imgfetch
	case "imgargs":
		return (*runner).imgargs
	case "imgfree":
		return (*runner).imgfree
	case "sanboot":
		return ends(Disk)
	case "shell":
		return ends(Shell)
	case "reboot":
		return ends(Reboot)
	case "poweroff":
		return ends(PowerOff)
	case "dhcp", "ifconf", "ifopen", "ifclose", "iflinkwait", "ifstat", "imgstat", "route", "console", "colour", "color", "cpair", "cpuid", "ntp", "sync":
		// The network is up, and there is no screen.
		return func(*runner, context.Context, []string) error { return nil }
	}
	return nil
}

func (r *runner) command(ctx context.Context, argv []string) error {
	run := commands(argv[0])
	if run == nil {
		return fmt.Errorf("%s: %w", argv[0], errNotFound)
	}
	if err := run(r, ctx, argv[1:]); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

func ends(outcome Outcome) handler {
	return func(r *runner, _ context.Context, _ []string) error {
		r.done = &Result{Outcome: outcome}
		return nil
	}
}

func (r *runner) set(_ context.Context, argv []string) error {
	if len(argv) == 0 {
		return errUsage
	}
	return r.settings.set(argv[0], joined(argv[1:]))
}

func (r *runner) clear(_ context.Context, argv []string) error {
	if len(argv) != 1 {
		return errUsage
	}
	name, _ := splitName(argv[0])
	delete(r.settings, name)
	return nil
}

func (r *runner) inc(_ context.Context, argv []string) error {
	if len(argv) < 1 || len(argv) > 2 {
		return errUsage
	}
	by := int64(1)
	if len(argv) == 2 {
		var err error
		if by, err = strconv.ParseInt(argv[1], 0, 32); err != nil {
			return errUsage
		}
	}
	name, kind := splitName(argv[0])
	if sizes[kind] == 0 {
		kind = kindInt32
	}
	r.settings[name] = integer(r.settings[name].number()+int32(by), kind)
	return nil
}

// isset sees the value, not the name: the line was expanded already.
func (r *runner) isset(_ context.Context, argv []string) error {
	if len(argv) == 0 {
		return errFalse
	}
	return nil
}

// iseq of a setting that is not set has one argument, which is a wrong number
// of them, and fails.
func (r *runner) iseq(_ context.Context, argv []string) error {
	if len(argv) != 2 {
		return errUsage
	}
	if argv[0] != argv[1] {
		return errFalse
	}
	return nil
}

func (r *runner) echo(_ context.Context, argv []string) error {
	if len(argv) > 0 && argv[0] == "-n" {
		argv = argv[1:]
	}
	if r.opts.Console != nil {
		r.opts.Console(joined(argv))
	}
	return nil
}

func (r *runner) sleepCommand(ctx context.Context, argv []string) error {
	if len(argv) != 1 {
		return errUsage
	}
	seconds, err := strconv.ParseUint(argv[0], 0, 31)
	if err != nil {
		return errUsage
	}
	return r.sleep(ctx, time.Duration(seconds)*time.Second)
}

func (r *runner) gotoCommand(_ context.Context, argv []string) error {
	if len(argv) != 1 {
		return errUsage
	}
	at, ok := r.labels[argv[0]]
	if !ok {
		return fmt.Errorf("no label %q", argv[0])
	}
	r.jump, r.stop = at, stopLine
	return nil
}

func (r *runner) exit(_ context.Context, argv []string) error {
	if len(argv) > 1 {
		return errUsage
	}
	r.stop = stopScript
	if len(argv) == 1 && argv[0] != "0" {
		return fmt.Errorf("status %s", argv[0])
	}
	return nil
}

// imageOptions are the options of all commands that take an image.
type imageOptions struct {
	name    string
	timeout time.Duration
	replace bool
}

// parseImageOptions reads options up to the first word that is none: what
// follows the URL belongs to the image.
func parseImageOptions(argv []string) (imageOptions, []string, error) {
	var o imageOptions
	for len(argv) > 0 && strings.HasPrefix(argv[0], "-") {
		option, value, inline := strings.Cut(argv[0], "=")
		argv = argv[1:]
		switch option {
		case "--replace", "-r":
			o.replace = true
			continue
		case "--autofree", "-a":
			// Memory is not what this interpreter runs out of.
			continue
		case "--name", "-n", "--timeout", "-t":
		default:
			return o, nil, fmt.Errorf("option %q: %w", option, errUsage)
		}
		if !inline {
			if len(argv) == 0 {
				return o, nil, fmt.Errorf("option %q: %w", option, errUsage)
			}
			value, argv = argv[0], argv[1:]
		}
		if option == "--name" || option == "-n" {
			o.name = value
			continue
		}
		ms, err := strconv.ParseUint(value, 0, 31)
		if err != nil {
			return o, nil, fmt.Errorf("option %q: %w", option, errUsage)
		}
		o.timeout = time.Duration(ms) * time.Millisecond
	}
	return o, argv, nil
}

// acquire finds the image that is held under the name argv[0], or fetches it.
// The words after it become its arguments.
func (r *runner) acquire(ctx context.Context, o imageOptions, argv []string, role Role) (*Image, error) {
	if len(argv) == 0 {
		return nil, errUsage
	}
	image := r.find(argv[0])
	if image == nil {
		var err error
		if image, err = r.fetch(ctx, argv[0], o.name, role, o.timeout); err != nil {
			return nil, err
		}
	}
	if len(argv) > 1 {
		image.Args = joined(argv[1:])
	}
	return image, nil
}

func (r *runner) find(name string) *Image {
	for _, image := range r.images {
		if image.Name == name {
			return image
		}
	}
	return nil
}

// chain also is boot, which without a URL runs the image that kernel selected.
func (r *runner) chain(ctx context.Context, argv []string) error {
	o, argv, err := parseImageOptions(argv)
	if err != nil {
		return err
	}
	image := r.selected
	if len(argv) > 0 {
		if image, err = r.acquire(ctx, o, argv, RoleScript); err != nil {
			return err
		}
	}
	if image == nil {
		return errNoImage
	}
	if o.replace {
		r.replacement, r.stop = image, stopScript
		return nil
	}
	return r.execute(ctx, image)
}

func (r *runner) kernel(ctx context.Context, argv []string) error {
	image, err := r.load(ctx, argv, RoleKernel)
	if err == nil {
		r.selected = image
	}
	return err
}

func (r *runner) initrd(ctx context.Context, argv []string) error {
	_, err := r.load(ctx, argv, RoleInitrd)
	return err
}

func (r *runner) imgfetch(ctx context.Context, argv []string) error {
	_, err := r.load(ctx, argv, RoleFile)
	return err
}

func (r *runner) load(ctx context.Context, argv []string, role Role) (*Image, error) {
	o, argv, err := parseImageOptions(argv)
	if err != nil {
		return nil, err
	}
	image, err := r.acquire(ctx, o, argv, role)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(r.images, image) {
		r.images = append(r.images, image)
	}
	return image, nil
}

func (r *runner) imgargs(_ context.Context, argv []string) error {
	if len(argv) == 0 {
		return errUsage
	}
	image := r.find(argv[0])
	if image == nil {
		return fmt.Errorf("%q: %w", argv[0], errNoImage)
	}
	image.Args = joined(argv[1:])
	return nil
}

func (r *runner) imgfree(_ context.Context, argv []string) error {
	if len(argv) == 0 {
		r.images, r.selected = nil, nil
		return nil
	}
	for _, name := range argv {
		image := r.find(name)
		if image == nil {
			return fmt.Errorf("%q: %w", name, errNoImage)
		}
		r.images = slices.DeleteFunc(r.images, func(i *Image) bool { return i == image })
		if r.selected == image {
			r.selected = nil
		}
	}
	return nil
}

func joined(argv []string) string { return strings.Join(argv, " ") }
