// Package command is the command line of metalprobe: its flags, and what a person sees of it.
package command
