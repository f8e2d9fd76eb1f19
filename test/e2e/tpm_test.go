package e2e

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/product"
)

// emulatedTPM is a TPM 2.0 of swtpm.
type emulatedTPM struct {
	socket string
	// modulus is that of its RSA endorsement key, as its maker says, in hexadecimal.
	modulus string
}

// maker plays swtpm_localca: it notes what it is told, and makes a certificate of each kind.
const maker = `#!/bin/sh
echo "$@" >> %s
while [ $# -gt 1 ]; do
	case $1 in
	--type) kind=$2 ;;
	--dir) folder=$2 ;;
	esac
	shift
done
echo certificate > "$folder/$kind.cert"
`

// newTPM makes a TPM, with an endorsement key as a factory does, and runs it until the test ends. One machine can have it, once.
func newTPM(t *testing.T) emulatedTPM {
	t.Helper()
	// A socket's path has at most 107 bytes, and those of tests are longer.
	folder, err := os.MkdirTemp("", "e2e-tpm-") //nolint:usetesting // for that reason
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	// What makes a certificate of the endorsement key is told the key. The certificate is of no use here, but has to be there.
	told, program, config := filepath.Join(folder, "told"), filepath.Join(folder, "program"), filepath.Join(folder, "setup.conf")
	for file, text := range map[string]string{
		program: fmt.Sprintf(maker, told),
		config:  fmt.Sprintf("create_certs_tool = %s\ncreate_certs_tool_config = /dev/null\ncreate_certs_tool_options = /dev/null\n", program),
	} {
		if err := product.WriteProgram(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	made, err := exec.Command("swtpm_setup", "--tpm2", "--tpm-state", folder, "--create-ek-cert", "--config", config).CombinedOutput()
	if err != nil {
		t.Fatalf("swtpm_setup (Debian package swtpm-tools): %v\n%s", err, made)
	}
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	tpm := emulatedTPM{socket: filepath.Join(folder, "control")}
	for fields := strings.Fields(string(text)); len(fields) > 1; fields = fields[1:] {
		if fields[0] == "--ek" {
			tpm.modulus = fields[1]
			break
		}
	}
	tpm.run(t, folder)
	return tpm
}

func (m emulatedTPM) run(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.Command("swtpm", "socket", "--tpm2", "--tpmstate", "dir="+folder, "--ctrl", "type=unixio,path="+m.socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (Debian package swtpm)", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.After(time.Minute); ; {
		if _, err := os.Stat(m.socket); err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ended:
			t.Fatalf("swtpm has ended: %s", said.String())
		case <-deadline:
			t.Fatal("swtpm does not listen")
		}
	}
}

// device are the arguments of QEMU that give a machine this TPM.
func (m emulatedTPM) device(model string) []string {
	return []string{"-chardev", "socket,id=tpm0,path=" + m.socket, "-tpmdev", "emulator,id=tpm0,chardev=tpm0", "-device", model + ",tpmdev=tpm0"}
}

// modulusOf is that of a public key in PEM.
func modulusOf(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return ""
	}
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x", public.N)
}
