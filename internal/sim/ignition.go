package sim

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
)

// ignitionConfig is the part of an Ignition 3.x configuration that decides what
// a machine becomes.
type ignitionConfig struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []struct {
			Path     string `json:"path"`
			Contents struct {
				Source      string `json:"source"`
				Compression string `json:"compression"`
			} `json:"contents"`
		} `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []struct {
			Name     string `json:"name"`
			Enabled  *bool  `json:"enabled"`
			Mask     bool   `json:"mask"`
			Contents string `json:"contents"`
		} `json:"units"`
	} `json:"systemd"`
}

// installed is a system as its ignition leaves it.
type installed struct {
	probe *agentFlags // nil: it does not run the agent
	// probeCA is what its --registry-ca-file holds; nil: the flag is not there.
	probeCA []byte
	// bootState is where it tells that it has booted, without the path's last part;
	// empty: nowhere.
	bootState string
}

// agentFlags is the command line of metalprobe.
type agentFlags struct {
	registryURL, serverUUID string
	registryCA              string // a path; empty: what the machine trusts
	duration                time.Duration
}

func parseIgnition(body []byte) (installed, error) {
	var config ignitionConfig
	if err := json.Unmarshal(body, &config); err != nil {
		return installed{}, fmt.Errorf("not a configuration: %w", err)
	}
	if !strings.HasPrefix(config.Ignition.Version, "3.") {
		return installed{}, fmt.Errorf("ignition.version %q is not 3.x", config.Ignition.Version)
	}
	var system installed
	for _, unit := range config.Systemd.Units {
		if unit.Mask || unit.Enabled == nil || !*unit.Enabled {
			continue
		}
		for _, command := range execStart(unit.Contents) {
			agent, ok, err := parseAgent(command)
			if err != nil {
				return installed{}, fmt.Errorf("unit %s: %w", unit.Name, err)
			}
			if ok {
				system.probe = &agent
				if system.probeCA, err = config.file(agent.registryCA); err != nil {
					return installed{}, fmt.Errorf("unit %s: --registry-ca-file: %w", unit.Name, err)
				}
			}
			if base, ok := bootStateBase(command); ok {
				system.bootState = base
			}
		}
	}
	return system, nil
}

// file is what the configuration writes into a file; nil without a path. Its sources are data URLs (RFC 2397).
func (c *ignitionConfig) file(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	for _, f := range c.Storage.Files {
		if f.Path != name {
			continue
		}
		kind, text, found := strings.Cut(strings.TrimPrefix(f.Contents.Source, "data:"), ",")
		if !found || !strings.HasPrefix(f.Contents.Source, "data:") {
			return nil, fmt.Errorf("%s: its source is no data URL", name)
		}
		content, err := url.PathUnescape(text)
		if err == nil && strings.HasSuffix(kind, ";base64") {
			var decoded []byte
			decoded, err = base64.StdEncoding.DecodeString(content)
			content = string(decoded)
		}
		if err == nil && f.Contents.Compression == "gzip" {
			content, err = gunzip(content)
		}
		return []byte(content), err
	}
	return nil, fmt.Errorf("%s: the configuration has no such file", name)
}

func gunzip(content string) (string, error) {
	r, err := gzip.NewReader(strings.NewReader(content))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxIgnition))
	return string(text), err
}

// bootStateBase finds the URL of /bootstate in a command, whichever program posts there.
func bootStateBase(command string) (base string, ok bool) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(command, "%%", "%")) {
		word = strings.Trim(word, `"'`)
		if base, ok = strings.CutSuffix(word, "/bootstate"); ok && strings.HasPrefix(base, "http") {
			return base, true
		}
	}
	return "", false
}

// execStart lists the commands of a service (systemd.service(5)): lines may be
// continued with a backslash, and an empty assignment forgets those before it.
func execStart(unit string) []string {
	var commands []string
	for line := range strings.SplitSeq(strings.ReplaceAll(unit, "\\\n", " "), "\n") {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if !ok {
			continue
		}
		if value = strings.TrimLeft(strings.TrimSpace(value), "@-:+!|"); value == "" {
			commands = nil
			continue
		}
		commands = append(commands, value)
	}
	return commands
}

// parseAgent recognises metalprobe, started by any path or as the image or
// argument of a container runtime, and reads its flags. --server-uuid may be absent: the agent falls back to
// what the machine says itself.
func parseAgent(command string) (agentFlags, bool, error) {
	words := strings.Fields(strings.ReplaceAll(command, "%%", "%"))
	var agent agentFlags
	found := false
	for i := range words {
		word := strings.Trim(words[i], `"'`)
		if name, _, _ := strings.Cut(path.Base(word), ":"); name == "metalprobe" {
			found = true
		}
		name, value, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "-") {
			continue
		}
		if !inline && i+1 < len(words) {
			value = words[i+1]
		}
		value = strings.Trim(value, `"'`)
		switch name {
		case "registry-url":
			agent.registryURL = value
		case "registry-ca-file":
			agent.registryCA = value
		case "server-uuid":
			agent.serverUUID = value
		case "duration":
			d, err := time.ParseDuration(value)
			if err != nil {
				return agentFlags{}, false, fmt.Errorf("--duration: %w", err)
			}
			agent.duration = d
		}
	}
	if found && agent.registryURL == "" {
		return agentFlags{}, false, errNoProbe
	}
	return agent, found, nil
}
