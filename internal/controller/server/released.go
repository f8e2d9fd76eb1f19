package server

// decideReleased keeps a server as it is for its owner: off, and nothing else. It
// ends when somebody removes serverClaimRef.
func decideReleased(v *View) Plan {
	var p Plan
	if !v.mark(&p) {
		v.forgetCleanup(&p)
	}
	return p
}
