package dhcp

import (
	"net"
	"testing"
)

func TestASearchIsAClientOfItsOwn(t *testing.T) {
	card := net.HardwareAddr{0x52, 0x54, 0, 0xff, 0xff, 0xff}
	mac, again, other := SearchMAC(card).String(), SearchMAC(card).String(), SearchMAC(net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}).String()
	if mac != again || mac == other || mac == card.String() {
		t.Errorf("%s, again %s, of another card %s", mac, again, other)
	}
	if SearchMAC(card)[0]&3 != 2 {
		t.Errorf("%s is not locally administered, or of a group", mac)
	}
	var both, one Searches
	one.Add(net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1})
	both = append(both, one...)
	both.Add(card)
	if !both.Are(Client{MAC: mac}) || one.Are(Client{MAC: mac}) || (Searches{""}).Are(Client{}) {
		t.Error("not told from others")
	}
}
