package ignition

import (
	"bytes"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"text/template"

	"golang.org/x/crypto/ssh"
)

// DiscoveryParams is what the ignition of the probe image is made from.
type DiscoveryParams struct {
	// RegistryURL is where the agent reports, token included:
	// http://<boot server>/probe/<token>. The agent appends /register.
	RegistryURL string
	// ServerUUID is the system UUID that the BMC reports. It may be empty: some
	// systems have none out of band, and the agent then reports its own.
	ServerUUID string
	// AuthorizedKey and PasswordHash (crypt(3)) let a person log in as user
	// "metal". Without either there is no such user.
	AuthorizedKey string
	PasswordHash  string
	// ProbeImage is a container image holding the agent. The built-in template
	// does not need one, templates made for other systems do.
	ProbeImage string
	// BootCA holds the authorities, PEM, that the agent is to verify the boot server with, and nobody else's; empty: those of
	// the system.
	BootCA []byte
	// Template replaces the built-in Butane. It is a text/template with the
	// variables RegistryURL, ServerUUID, Flags (both as agent flags), Image,
	// SSHPublicKey, PasswordHash and BootCA.
	Template string
}

//go:embed discovery.bu.tmpl
var discoveryButane string

var discoveryTemplate = template.Must(parseTemplate("discovery", discoveryButane))

// discoveryValues are the variables of a discovery template. Image, Flags,
// SSHPublicKey and PasswordHash are names that existing templates use.
type discoveryValues struct {
	RegistryURL  string
	ServerUUID   string
	Flags        string
	Image        string
	SSHPublicKey string
	PasswordHash string
	BootCA       string
}

// Discovery returns the Butane text of the probe image, ready for a Secret
// with format "fcos". The text is known to translate: a template that does not
// is refused here, with the reason, and not at ten thousand machines.
func Discovery(p DiscoveryParams) ([]byte, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("discovery ignition: %w", err)
	}
	tmpl := discoveryTemplate
	if p.Template != "" {
		custom, err := parseTemplate("discovery template", p.Template)
		if err != nil {
			return nil, fmt.Errorf("discovery ignition: %w", err)
		}
		tmpl = custom
	}
	var text bytes.Buffer
	if err := tmpl.Execute(&text, p.values()); err != nil {
		return nil, fmt.Errorf("discovery ignition: %w", err)
	}
	if _, _, err := Payload(FormatButane, text.Bytes()); err != nil {
		return nil, fmt.Errorf("discovery ignition: %w", err)
	}
	return text.Bytes(), nil
}

func parseTemplate(name, text string) (*template.Template, error) {
	return template.New(name).Funcs(template.FuncMap{"quote": quote}).Parse(text)
}

// quote writes a YAML double-quoted scalar: a JSON string is one
// (YAML 1.2.2 §1.3).
func quote(s string) (string, error) {
	quoted, err := json.Marshal(s)
	return string(quoted), err
}

func (p DiscoveryParams) values() discoveryValues {
	flags := "--registry-url=" + p.RegistryURL
	if p.ServerUUID != "" {
		flags += " --server-uuid=" + p.ServerUUID
	}
	return discoveryValues{
		RegistryURL:  p.RegistryURL,
		ServerUUID:   p.ServerUUID,
		Flags:        flags,
		Image:        p.ProbeImage,
		SSHPublicKey: strings.TrimSpace(p.AuthorizedKey),
		PasswordHash: p.PasswordHash,
		BootCA:       string(p.BootCA),
	}
}

// What may enter a unit file. Its ExecStart line splits at white space, unquotes,
// and expands % and $ (systemd.service(5), systemd.unit(5) "Specifiers"). Templates
// of other systems also put values into YAML without quotes. So none of the
// characters that mean something there can be part of a value; nothing that we
// are given legitimately has them.
var (
	urlText      = regexp.MustCompile(`^[A-Za-z0-9._~:/?#\[\]@!&()*+,;=-]+$`)
	uuidText     = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	imageText    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)
	keyText      = regexp.MustCompile(`^[A-Za-z0-9@._+/= -]+$`)
	passwordText = regexp.MustCompile(`^\$[0-9a-z-]+\$[./A-Za-z0-9$=,]+$`)
)

const maxField = 4096

func (p DiscoveryParams) validate() error {
	if err := checkRegistryURL(p.RegistryURL); err != nil {
		return err
	}
	if p.ServerUUID != "" && !uuidText.MatchString(p.ServerUUID) {
		return fmt.Errorf("server UUID %q is not a UUID", p.ServerUUID)
	}
	if p.ProbeImage != "" && (len(p.ProbeImage) > maxField || !imageText.MatchString(p.ProbeImage)) {
		return fmt.Errorf("probe image %q has characters that no image reference has", p.ProbeImage)
	}
	if len(p.BootCA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(p.BootCA) {
		return fmt.Errorf("boot CA holds no PEM certificate")
	}
	if p.PasswordHash != "" && (len(p.PasswordHash) > maxField || !passwordText.MatchString(p.PasswordHash)) {
		return fmt.Errorf("password hash is not in crypt(3) form")
	}
	if p.AuthorizedKey == "" {
		return nil
	}
	return checkAuthorizedKey(p.AuthorizedKey)
}

// checkRegistryURL never repeats the URL in its errors: it carries a token.
func checkRegistryURL(text string) error {
	if len(text) > maxField || !urlText.MatchString(text) {
		return fmt.Errorf("registry URL is empty, too long, or has characters that cannot stand in a unit file")
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return fmt.Errorf("registry URL is not an absolute http or https URL")
	}
	return nil
}

// checkAuthorizedKey takes one plain key. Options in front of it are refused:
// they can run commands, and no caller needs them.
func checkAuthorizedKey(text string) error {
	line := strings.TrimSpace(text)
	if len(line) > maxField {
		return fmt.Errorf("authorized key is longer than %d bytes", maxField)
	}
	if !keyText.MatchString(line) {
		return fmt.Errorf("authorized key is not one line of letters, digits and @._+/=-")
	}
	_, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return fmt.Errorf("authorized key: %w", err)
	}
	if len(options) > 0 {
		return fmt.Errorf("authorized key has options: %s", strings.Join(options, ","))
	}
	return nil
}
