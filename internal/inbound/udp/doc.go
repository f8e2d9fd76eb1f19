// Package udp serves the packets that come to a UDP socket.
package udp
