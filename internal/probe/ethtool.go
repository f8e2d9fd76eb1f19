package probe

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// ethtoolInfo is what a driver tells about its port.
type ethtoolInfo struct {
	firmware         string
	linkModes, ports []string
}

// Of <linux/ethtool.h>: struct ethtool_drvinfo, and struct ethtool_link_settings, of which the
// masks follow a header of 48 bytes.
const (
	ethtoolDriverInfo      = 0x03
	ethtoolLinkSettings    = 0x4c
	driverInfoBytes        = 196
	driverInfoFirmware     = 68
	driverInfoText         = 32
	linkSettingsHeader     = 48
	linkSettingsWords      = 15 // offset of link_mode_masks_nwords
	maxLinkModeWords       = 16
	linkSettingsMasksBytes = 3 * 4 * maxLinkModeWords
)

// linkModes are enum ethtool_link_mode_bit_indices. Names without a speed are no modes.
var linkModes = strings.Fields(`
10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Half 1000baseT/Full Autoneg TP AUI MII
FIBRE BNC 10000baseT/Full Pause Asym_Pause 2500baseX/Full Backplane 1000baseKX/Full 10000baseKX4/Full 10000baseKR/Full
10000baseR_FEC 20000baseMLD2/Full 20000baseKR2/Full 40000baseKR4/Full 40000baseCR4/Full 40000baseSR4/Full 40000baseLR4/Full 56000baseKR4/Full 56000baseCR4/Full 56000baseSR4/Full
56000baseLR4/Full 25000baseCR/Full 25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full 100000baseKR4/Full 100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full
50000baseSR2/Full 1000baseX/Full 10000baseCR/Full 10000baseSR/Full 10000baseLR/Full 10000baseLRM/Full 10000baseER/Full 2500baseT/Full 5000baseT/Full FEC_NONE
FEC_RS FEC_BASER 50000baseKR/Full 50000baseSR/Full 50000baseCR/Full 50000baseLR_ER_FR/Full 50000baseDR/Full 100000baseKR2/Full 100000baseSR2/Full 100000baseCR2/Full
100000baseLR2_ER2_FR2/Full 100000baseDR2/Full 200000baseKR4/Full 200000baseSR4/Full 200000baseLR4_ER4_FR4/Full 200000baseDR4/Full 200000baseCR4/Full 100baseT1/Full 1000baseT1/Full 400000baseKR8/Full
400000baseSR8/Full 400000baseLR8_ER8_FR8/Full 400000baseDR8/Full 400000baseCR8/Full`)

var supportedPorts = map[string]bool{"TP": true, "AUI": true, "MII": true, "FIBRE": true, "BNC": true, "Backplane": true}

// parseFirmware reads struct ethtool_drvinfo.
func parseFirmware(info []byte) string {
	if len(info) < driverInfoFirmware+driverInfoText {
		return ""
	}
	text, _, _ := bytes.Cut(info[driverInfoFirmware:][:driverInfoText], []byte{0})
	version := strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
	if version == "N/A" {
		return ""
	}
	return version
}

// parseSupported reads the first mask of struct ethtool_link_settings.
func parseSupported(settings []byte) (modes, ports []string) {
	if len(settings) <= linkSettingsHeader {
		return nil, nil
	}
	words := int(int8(settings[linkSettingsWords]))
	for bit, name := range linkModes {
		at := linkSettingsHeader + bit/32*4
		if bit/32 >= words || at+4 > len(settings) || binary.NativeEndian.Uint32(settings[at:])>>(bit%32)&1 == 0 {
			continue
		}
		switch {
		case supportedPorts[name]:
			ports = append(ports, name)
		case strings.Contains(name, "base") && strings.Contains(name, "/"):
			modes = append(modes, name)
		}
	}
	return modes, ports
}
