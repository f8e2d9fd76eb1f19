// Package mcm runs Gardener's machine controller for ironcore-metal, as it was published, against `farrier up`.
//
// TestDriver calls its driver and judges each answer. TestMachineController runs its program, which makes, boots and
// removes a server for a Machine object.
package mcm
