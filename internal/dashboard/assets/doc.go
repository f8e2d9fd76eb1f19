// Package assets has the scripts and styles of others that the dashboard's pages load: xterm.js with its fit addon, and uPlot, as their
// authors published them. SHA256SUMS says what each file is, and licenses/ has their licences.
//
//	file               package            version  licence
//	xterm.js, .css     @xterm/xterm       5.5.0    MIT
//	xterm-fit.js       @xterm/addon-fit   0.10.0   MIT
//	uplot.js, .css     uplot              1.6.32   MIT
package assets
