// Package ignition prepares what a machine reads on its first boot, and makes
// the tokens to read it with.
//
//   - Payload turns the content of an ignition Secret into the bytes that a
//     machine gets: Butane is translated, everything else passes unchanged.
//     It runs when the Secret changes, so that a mistake shows in a condition
//     long before a machine asks.
//   - Discovery writes the Butane of the probe image: one user for the person
//     who debugs, one unit that runs the agent.
//   - GenerateSSH makes that person's credentials.
//   - Token derives the token of a boot attempt. Nothing is stored: every
//     replica that holds the key computes the same token, and boot servers get
//     tokens, never the key.
//   - Fingerprint shows that the content of an ignition Secret has changed, to
//     people and programs that must not read it.
//
// The package is pure: no Kubernetes, no network, no files, no clock.
package ignition
