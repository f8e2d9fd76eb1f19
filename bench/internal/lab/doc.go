// Package lab runs a whole farrier up, with boot configs of machines that have no Servers, as somebody uses it who only boots machines.
package lab
