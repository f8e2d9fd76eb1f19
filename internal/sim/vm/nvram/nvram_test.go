package nvram

import (
	"bytes"
	"encoding/binary"
	"testing"
)

const volumeHeader = 72

// emptyStore is a store as firmware has it before its first start.
func emptyStore() []byte {
	store := bytes.Repeat([]byte{erased}, 4096)
	binary.LittleEndian.PutUint16(store[lengthAt:], volumeHeader)
	clear(store[volumeHeader : volumeHeader+storeSize])
	return store
}

// variables are those of a store that count, by name.
func variables(t *testing.T, store []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for at := volumeHeader + storeSize; binary.LittleEndian.Uint16(store[at:]) == startID; {
		name, data := int(binary.LittleEndian.Uint32(store[at+nameSizeAt:])), int(binary.LittleEndian.Uint32(store[at+dataSizeAt:]))
		if store[at+2] == added {
			text := string(bytes.ReplaceAll(store[at+headerSize:at+headerSize+name], []byte{0}, nil))
			if _, twice := out[text]; twice {
				t.Errorf("%s is there twice", text)
			}
			out[text] = store[at+headerSize+name : at+headerSize+name+data]
		}
		at = (at + headerSize + name + data + 3) &^ 3
	}
	return out
}

func TestWriteTo(t *testing.T) {
	store := emptyStore()
	if err := (Variables{BootURL: "http://192.0.2.1/first.efi"}).WriteTo(store); err != nil {
		t.Fatal(err)
	}
	if err := (Variables{BootURL: "http://192.0.2.1/next.efi", Trusted: []byte("-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n")}).WriteTo(store); err != nil {
		t.Fatal(err)
	}
	got := variables(t, store)
	if len(got) != 3 || !bytes.Equal(got["BootOrder"], []byte{0, 0}) || !bytes.Contains(got["Boot0000"], []byte("next.efi")) || !bytes.HasSuffix(got["TlsCaCertificate"], []byte{0, 1, 2}) {
		t.Errorf("%q", got)
	}
	// UEFI 2.10 §3.1.3: attributes, length of the device path, description, device path.
	option := got["Boot0000"]
	if want := uint16(4 + len("http://192.0.2.1/next.efi") + 4); binary.LittleEndian.Uint32(option) != 1 || binary.LittleEndian.Uint16(option[4:]) != want {
		t.Errorf("load option %x", option)
	}
}

func TestWriteToIsRefused(t *testing.T) {
	full := emptyStore()
	for (Variables{BootURL: "http://192.0.2.1/a.efi"}).WriteTo(full) == nil {
	}
	broken := emptyStore()
	binary.LittleEndian.PutUint16(broken[volumeHeader+storeSize:], startID) // a record of 4 GiB
	other := make([]byte, 4096)
	for name, store := range map[string][]byte{"full": full, "broken": broken, "something else": other, "short": {1, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone(store)
			if err := (Variables{BootURL: "http://192.0.2.1/b.efi"}).WriteTo(store); err == nil {
				t.Error("written")
			}
			if name != "full" && !bytes.Equal(before, store) {
				t.Error("changed")
			}
		})
	}
}

func FuzzWriteTo(f *testing.F) {
	store := emptyStore()
	_ = (Variables{BootURL: "http://192.0.2.1/a.efi"}).WriteTo(store)
	f.Add(store)
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, store []byte) {
		_ = (Variables{BootURL: "http://192.0.2.1/b.efi"}).WriteTo(store)
	})
}
