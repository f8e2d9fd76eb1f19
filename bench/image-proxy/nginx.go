package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/test/loopback"
)

// nginxConfig is what its own documentation recommends for large files.
const nginxConfig = `daemon off; worker_processes auto; pid %[1]s/nginx.pid; error_log %[1]s/nginx.log;
events { worker_connections 1024; }
http {
  sendfile on; tcp_nopush on; access_log off; default_type application/octet-stream;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server { listen %[2]s; location /blob { alias %[3]s; } }
}
`

// startNginx serves one file at any path. It returns nothing where there is no nginx.
func startNginx(ctx context.Context, binary, folder, file string) (*program.Program, string, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		fmt.Println("No nginx (Debian: apt-get install nginx-light): its rows are left out.")
		return nil, "", nil
	}
	address, err := loopback.Choose(ctx)
	if err != nil {
		return nil, "", err
	}
	conf := filepath.Join(folder, "nginx.conf")
	text := fmt.Appendf(nil, nginxConfig, folder, address, file)
	if os.Getuid() == 0 {
		text = append([]byte("user root;\n"), text...) // else its workers are somebody who may not read the folder
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return nil, "", err
	}
	p, err := program.Start(ctx, path, func(string) {}, "-p", folder, "-c", conf, "-e", filepath.Join(folder, "nginx.log"))
	if err != nil {
		return nil, "", err
	}
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return p, address, conn.Close()
		}
		select {
		case <-p.Exited():
			return nil, "", p.Err()
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
